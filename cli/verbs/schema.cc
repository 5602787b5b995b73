#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/verb.h"
#include "spec/job_members.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

Json pattern(const char* regular_expression) {
    return {{"type", "string"}, {"pattern", regular_expression}};
}
Json any_of(std::initializer_list<Json> schemas) {
    return {{"anyOf", Json(schemas)}};
}
Json list_of(const Json& item) {
    return {{"type", "array"}, {"minItems", 1}, {"items", item}};
}
Json whole() {
    return {{"type", "integer"}};
}
Json steps() {
    return pattern("^[0-9]+ steps?$");
}
Json duration() {
    return pattern("^[0-9.]+ ?[a-z]+$");
}

template <typename T>
Json object_of(const T& value);

Json schema_of(const Member&, const std::string&) {
    return {{"type", "string"}};
}
Json schema_of(const Member&, int) {
    return whole();
}
Json schema_of(const Member&, std::uint64_t) {
    return {{"type", "integer"}, {"minimum", 0}};
}
Json schema_of(const Member& member, double) {
    const Json number = {{"type", "number"}};
    if (member.written != Written::number_or_auto) return number;
    return any_of({{{"const", "auto"}}, number});
}
Json schema_of(const Member& member, std::int64_t) {
    if (member.written == Written::steps) return steps();
    const bool is_budget = member.written == Written::budget;
    return any_of({whole(), pattern(is_budget ? "^[0-9.]+[KMB]$" : "^[0-9.]+[KM]$")});
}
Json schema_of(const Member&, Seconds) {
    return duration();
}
Json schema_of(const Member&, const std::optional<double>&) {
    return {{"type", "number"}};
}
Json schema_of(const Member&, const std::optional<Bytes>&) {
    return pattern("^[0-9.]+ ?([KMGT]i)?B$");
}
Json schema_of(const Member& member, const std::vector<std::int64_t>&) {
    return list_of(schema_of(member, std::int64_t{}));
}
Json schema_of(const Member&, const std::vector<std::string>&) {
    return list_of({{"type", "string"}});
}
Json schema_of(const Member&, const std::vector<DataSource>&) {
    const Json text = {{"type", "string"}};
    return any_of({text, list_of(text)});
}
Json schema_of(const Member&, const std::vector<DeviceId>&) {
    return list_of({{"type", "string"}});
}

template <typename E>
Json words_of() {
    Json words = Json::array();
    for (int i = 0; to_string(static_cast<E>(i)) != "?"; ++i)
        words.push_back(to_string(static_cast<E>(i)));
    return {{"enum", words}};
}
template <Named E>
Json schema_of(const Member&, const E&) {
    return words_of<E>();
}
Json schema_of(const Member&, const std::optional<Keep>&) {
    return words_of<Keep>();
}
Json schema_of(const Member&, const std::optional<NetworkKind>&) {
    return words_of<NetworkKind>();
}
template <Described T>
Json schema_of(const Member&, const T& part) {
    return object_of(part);
}
template <Described T>
Json schema_of(const Member&, const std::vector<T>&) {
    return list_of(object_of(T()));
}
Json schema_of(const Member&, const std::vector<StageSpec>&) {
    const Json recipe = {{"type", "object"},
                         {"properties", {{"recipe", {{"type", "string"}}}}},
                         {"required", Json::array({"recipe"})},
                         {"additionalProperties", false}};
    return any_of({list_of(object_of(StageSpec())), recipe});
}

class Properties {
public:
    template <typename T>
    void operator()(const Member& member, const T& value) {
        add(member, schema_of(member, value));
    }
    void interval(const Member& member, std::int64_t, Seconds) {
        add(member, any_of({steps(), duration(), {{"const", "never"}}}));
    }
    void mesh(const Member& member, const std::optional<Mesh>&, int) {
        for (const char* key : {"data", "ring", "inner_ring", "ulysses", "tensor", "zero"})
            mesh_[key] = whole();
        add(member, object(mesh_, Json::array()));
    }
    Json schema() const { return object(properties_, required_); }

private:
    static Json object(const Json& properties, const Json& required) {
        Json out = {{"type", "object"}, {"properties", properties}};
        if (!required.empty()) out["required"] = required;
        out["additionalProperties"] = false;
        return out;
    }
    void add(const Member& member, const Json& schema) {
        const std::string name(member.name);
        Json& property = properties_[name];
        property = member.automatic ? any_of({{{"const", "auto"}}, schema}) : schema;
        if (!member.help.empty()) property["description"] = member.help;
        if (member.presence == Presence::required) required_.push_back(name);
    }

    Json properties_ = Json::object();
    Json required_ = Json::array();
    Json mesh_ = Json::object();
};

template <typename T>
Json object_of(const T& value) {
    Properties properties;
    describe(properties, value);
    return properties.schema();
}

// The JSON Schema (draft 2020-12) of a job file, for editors and validators. A YAML value counts as
// what YAML 1.2 makes of it: `8K` is a string, `8192` an integer.
std::string job_schema() {
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "Ringmaster job"}};
    schema.update(object_of(JobSpec()));
    return schema.dump(2) + "\n";
}

struct SchemaOptions : VerbOptions {};

Result<ExitCode> run_schema(const SchemaOptions&, VerbContext& context) {
    context.console.out.stream << job_schema();
    return ExitCode::ok;
}

}  // namespace

Verb schema_verb() {
    return verb_of("schema", "Print the JSON Schema of job files, for editors and validators",
                   run_schema, {{"ringmaster schema", "save it beside job files, for an editor"}});
}

}  // namespace rm
