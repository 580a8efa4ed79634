// SPDX-License-Identifier: MIT
#include "json_info.hpp"

#include "../describe.hpp"
#include "terminal.hpp"
#include "wording.hpp"

#include <ztensor/edit.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace zt {
namespace {

using nlohmann::ordered_json;

/// Adds a member of a key that is not there yet: operator[] would compare it with all that are.
void add_new(ordered_json& to, std::string_view key, ordered_json value) {
    to.get_ref<ordered_json::object_t&>().emplace_back(std::string(key), std::move(value));
}

/// Adds what `find` finds in the bytes, or why it can't.
template <class Find>
void add_found(ordered_json& out, bool& is_damaged, const Find& find) {
    try {
        find();
    } catch (const ztensor::exception& failure) {
        out["error"] = json_of(failure.error());
        is_damaged = true;
    }
}

ordered_json describe_part(const ztensor::component_view& part, bool has_digests, bool& is_damaged) {
    ordered_json out = describe::words_of(part);
    if (part.decoded_bytes()) {
        out["decoded_length"] = *part.decoded_bytes();
    }
    if (has_digests) {
        add_found(out, is_damaged, [&] { describe::add_digests(part, out); });
        is_damaged = is_damaged || out["digest_state"] == "mismatch";
    }
    return out;
}

ordered_json describe_object(const ztensor::object_view& object, ztensor::version version, bool has_digests,
                             bool& is_damaged) {
    ordered_json out = describe::words_of(object, version);
    out["parameters"] = object.element_count();
    out["attributes"] = json_of(object.attributes());
    if (object.is_in_planes()) {
        out["planes_of"] = object.dtype().text();
    }
    ordered_json& components = out["components"] = ordered_json::object();
    for (const ztensor::component_view part : object) {
        add_new(components, part.role(), describe_part(part, has_digests, is_damaged));
    }
    if (has_digests) {
        add_found(out, is_damaged, [&] { describe::add_sparse_digests(object, out); });
    }
    return out;
}

} // namespace

ordered_json json_of(const ztensor::reader& file, const selection& taken, bool has_digests, bool& is_damaged) {
    ordered_json out = {{"path", file.path()}};
    out.update(describe::words_of(file));
    if (const std::uint64_t dead = ztensor::dead_bytes(file).value(); dead != 0) {
        out["dead_bytes"] = dead;
    }
    out["attributes"] = json_of(file.attributes());
    ordered_json objects = ordered_json::array();
    std::uint64_t parameters = 0, done = 0;
    progress_line progress;
    for (const ztensor::object_view object : file) {
        if (taken.takes(object)) {
            progress.show_count(done++, file.size(), object.name());
            parameters += object.element_count();
            objects.push_back(describe_object(object, describe::version_of(file), has_digests, is_damaged));
        }
    }
    out["parameters"] = parameters;
    out["objects"] = std::move(objects);
    return out;
}

ordered_json json_of(const ztensor::attributes_view& attributes) {
    if (attributes.empty()) {
        return {}; // null
    }
    ordered_json out = ordered_json::object();
    for (const ztensor::attribute& each : attributes) {
        const auto value = ztensor::to_json(each.cbor);
        add_new(out, each.key, value ? ordered_json(*value) : ordered_json{{"cbor", describe::hex(each.cbor)}});
    }
    return out;
}

ordered_json json_of(const ztensor::error& why) {
    ordered_json out = {{"code", ztensor::name(why.code())}, {"sentence", in_words_of_zt(std::string(why.sentence()))}};
    const auto add = [&](const char* key, const std::string& text) {
        if (!text.empty()) {
            out[key] = text;
        }
    };
    add("object", why.object());
    add("component", why.component());
    if (why.offset()) {
        out["offset"] = *why.offset();
    }
    return out;
}

void print_json(const ordered_json& content) {
    std::cout << content.dump(1, ' ', true, ordered_json::error_handler_t::replace) << '\n';
}

} // namespace zt
