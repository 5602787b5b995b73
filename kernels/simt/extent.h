#pragma once

namespace rm::simt {

// The size of a grid, in blocks; or a block's place in it.
struct Extent {
    int x = 1;
    int y = 1;
    int z = 1;
};

}  // namespace rm::simt
