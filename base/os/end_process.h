#pragma once

namespace rm {

// Call it last in main. Flushes the streams and ends the process with `code`: no handler of exit
// runs and no global is destroyed, since threads of a library may still use them. gRPC makes
// connections on threads that it does not wait for, and they crash in an OpenSSL that has cleaned
// up.
[[noreturn]] void end_process(int code);

}  // namespace rm
