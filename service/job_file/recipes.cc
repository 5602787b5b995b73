#include "service/job_file/recipes.h"

#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "service/job_file/yaml_fields.h"

namespace rm {

std::string_view Recipe::about() const {
    const std::string_view line = text.substr(0, text.find('\n'));
    return line.substr(std::min(line.size(), line.find_first_not_of("# ")));
}

Result<Recipe> find_recipe(std::string_view name) {
    const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
    if (found != kRecipes.end()) return *found;
    std::vector<std::string_view> names;
    for (const Recipe& recipe : kRecipes)
        names.push_back(recipe.name);
    const auto likely = likely_word(name, names);
    return make_error(ErrorCode::not_found, "there is no recipe '{}'{} (there are {})", name,
                      likely ? format("; did you mean '{}'?", *likely) : "", join(names));
}

Status expand_recipe(YamlNode& root, std::string_view file_name) {
    const auto stages = std::ranges::find(root.entries, "stages", &YamlEntry::key);
    if (stages == root.entries.end() || stages->value.kind != YamlNode::Kind::map) return {};
    const YamlValue value{file_name, "stages", stages->value, stages->place};
    std::string name;
    RM_RETURN_IF_ERROR(read_map(value, {{"recipe", read_text(name), Presence::required}}));
    const auto recipe = find_recipe(name);
    if (!recipe) {
        return error_at(file_name, stages->value.find("recipe")->value.place,
                        format("stages.recipe: {}", recipe.error().message));
    }
    RM_TRY(YamlNode text, parse_yaml(recipe->text, recipe->name));
    const auto published = std::ranges::find(text.entries, "stages", &YamlEntry::key);
    RM_CHECK(published != text.entries.end(), "the recipe {} has no stages", name);
    stages->value = std::move(published->value);
    set_origin(stages->value, recipe->name);
    return {};
}

}  // namespace rm
