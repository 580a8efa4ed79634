// SPDX-License-Identifier: MIT
#include "folding.hpp"

#include "../describe.hpp"
#include "terminal.hpp"

#include <ztensor/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace zt {
namespace {

using nlohmann::json;

constexpr std::size_t most_items = 6;
constexpr std::size_t most_columns = 60; ///< of one text
constexpr int most_levels = 2;

/// ", ... 4,994 more"
std::string rest_of(std::size_t count) {
    return count > most_items ? ", ... " + grouped(count - most_items) + " more" : "";
}

std::string folded_text(const std::string& text) {
    const std::string start = text.substr(0, 4 * most_columns); // a character has four bytes at most
    const std::string shown = cut(printable(start), most_columns);
    const bool is_whole = start.size() == text.size() && columns_of(printable(text)) <= most_columns;
    return '"' + shown + '"' + (is_whole ? "" : " (" + grouped(text.size()) + " bytes)");
}

std::string folded(const json& value, int level) {
    if (value.is_string()) {
        return folded_text(value.get_ref<const std::string&>());
    }
    if (value.is_binary()) {
        return grouped(value.get_binary().size()) + " bytes";
    }
    if (!value.is_structured()) {
        return value.dump();
    }
    if (level == most_levels && !value.empty()) {
        return value.is_array() ? "[" + grouped(value.size()) + " items]" : "{" + grouped(value.size()) + " keys}";
    }
    std::string items;
    std::size_t count = 0;
    for (const auto& [key, each] : value.items()) {
        if (count++ == most_items) {
            break;
        }
        items += (items.empty() ? "" : ", ") + (value.is_object() ? folded_text(key) + ": " : "") +
                 folded(each, level + 1);
    }
    items += rest_of(value.size());
    return value.is_array() ? "[" + items + "]" : "{" + items + "}";
}

} // namespace

std::string text_of_value(ztensor::bytes_view cbor, bool is_folded) {
    const auto value = ztensor::to_json(cbor);
    if (!value && is_folded) {
        return grouped(cbor.size()) + " bytes of CBOR";
    }
    if (!value) {
        return "CBOR " + describe::hex(cbor);
    }
    return is_folded ? folded(*value, 0)
                     : in_one_line(value->dump(-1, ' ', !shows_unicode(), json::error_handler_t::replace));
}

std::string text_of(const ztensor::attributes& attributes, bool is_folded) {
    std::string out;
    std::size_t count = 0;
    for (const ztensor::attributes::entry& each : attributes.values()) {
        if (is_folded && count++ == most_items) {
            return out + rest_of(attributes.values().size());
        }
        out += (out.empty() ? "" : ", ") + printable(each.key) + ": " + text_of_value(each.cbor, is_folded);
    }
    return out;
}

} // namespace zt
