// SPDX-License-Identifier: MIT
#include "support/outline.hpp"

#include "support/bytes.hpp"
#include "support/mutants.hpp"

#include <cstdint>
#include <string_view>

namespace support {
namespace outlines {
namespace {

/// So that two texts never look like one.
void add(std::string& out, std::string_view text) {
    out += ' ';
    out += std::to_string(text.size());
    out += ':';
    out += text;
}
void add(std::string& out, std::uint64_t number) {
    out += ' ';
    out += std::to_string(number);
}
template <class... Texts>
void add_all(std::string& out, const Texts&... texts) {
    (add(out, std::string_view(texts)), ...);
}

void add(std::string& out, const ztensor::attributes_view& attributes) {
    add(out, std::uint64_t{attributes.size()});
    for (const ztensor::attribute& each : attributes) {
        add(out, each.key);
        add(out, as_string(each.cbor));
        add(out, name(each.kind()));
    }
}

void add(std::string& out, const ztensor::component_view& part) {
    out += "\n ";
    const auto type = part.type();
    add_all(out, part.role(), part.dtype().text(), part.dtype().original(),
            type.is_present() ? type.text() : type.original(), part.encoding().text(), part.shard(),
            part.digest().text());
    add(out, part.offset());
    add(out, part.stored_bytes());
    const auto decoded = part.decoded_bytes(), stated = part.uncompressed_length();
    out += decoded ? " decoded " + std::to_string(*decoded) : "";
    out += stated ? " stated " + std::to_string(*stated) : "";
    out += type.is_present() || type.has_original() ? " typed" : "";
    out += type.is_present() && !type.is_known() ? " of unknown type" : "";
    out += part.digest().is_present() ? " digested" : "";
    out += part.is_big_endian() ? " big" : "";
    out += part.dtype().is_known() ? " dtype " + std::to_string(static_cast<int>(*part.dtype().known())) : "";
    out += part.encoding().is_known() ? " encoding " + std::to_string(static_cast<int>(*part.encoding().known())) : "";
}

void add(std::string& out, const ztensor::object_view& object, bool is_2) {
    out += '\n';
    add_all(out, object.name(), is_2 ? object.format().original() : object.format().text(), object.format().original(),
            object.dtype().text(), object.type().is_present() ? object.type().text() : object.type().original());
    out += " [";
    for (const std::uint64_t each : object.shape()) {
        add(out, each);
    }
    out += " ]";
    add(out, object.element_count());
    out += object.format().known() ? " format " + std::to_string(static_cast<int>(*object.format().known())) : "";
    out += object.has_attributes() ? " attributes" : "";
    add(out, object.attributes());
    for (const ztensor::component_view part : object) {
        add(out, part);
    }
}

void add_name(std::string& out, std::string_view text) {
    constexpr std::size_t longest = 24;
    bool is_plain = text.size() <= longest && !text.empty();
    for (const char each : text) {
        is_plain = is_plain && ((each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                                (each >= '0' && each <= '9') || each == '.' || each == '_' || each == '-');
    }
    out += ' ';
    out += is_plain ? std::string(text) : '#' + hash_text(hashed(text)).substr(0, 8);
}

} // namespace
} // namespace outlines

std::string outline(const ztensor::reader& file) {
    std::string out(file.container().text());
    outlines::add(out, file.version().original());
    outlines::add(out, static_cast<std::uint64_t>(file.version().known().value_or(ztensor::version::v1_2)));
    out += file.is_data_shard() ? " data shard" : "";
    out += file.has_attributes() ? " attributes" : "";
    outlines::add(out, file.attributes());
    for (const ztensor::skipped_item& each : file.skipped()) {
        out += "\nskipped";
        outlines::add(out, each.name);
    }
    for (const ztensor::object_view object : file) {
        outlines::add(out, object, file.version() == ztensor::version::v2);
    }
    return out;
}

std::string place_of(const ztensor::error& why) {
    std::string out(name(why.code()));
    out += why.offset() ? " @" + std::to_string(*why.offset()) : " -";
    if (!why.object().empty() || !why.component().empty()) {
        outlines::add_name(out, why.object());
    }
    if (!why.component().empty()) {
        outlines::add_name(out, why.component());
    }
    return out;
}

} // namespace support
