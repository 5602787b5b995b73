#pragma once

#include <span>
#include <string_view>

#include "service/job_file/yaml_tree.h"

namespace rm {

// A published schedule of stages: a job file of examples/recipes, which the build puts into the
// programs. Its first line says what it is.
struct Recipe {
    std::string_view name;
    std::string_view text;

    std::string_view about() const;  // the first line, without its mark
};
extern const std::span<const Recipe> kRecipes;  // by name

// NOT_FOUND lists the recipes.
Result<Recipe> find_recipe(std::string_view name);

// Replaces `stages: {recipe: NAME}` by the stages of that recipe, whose places then say so. Errors
// as of parse_job_file.
Status expand_recipe(YamlNode& root, std::string_view file_name);

}  // namespace rm
