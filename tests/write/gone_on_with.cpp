// SPDX-License-Identifier: MIT
#include "write/gone_on_with.hpp"

#include "support/bytes.hpp"
#include "support/elements.hpp"

#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <iostream>

namespace gone_on_with {

void write_old(const std::filesystem::path& path, ztensor::format_version version) {
    ztensor::writer out = ztensor::writer::create(path, ztensor::write_options().version(version).sync(false)).value();
    if (version != ztensor::format_version::v0_1) {
        out.attributes(ztensor::attributes().set("source", "test")).value();
    }
    const std::vector<float> a = {1, 2, 3};
    const std::vector<std::uint8_t> b = {1, 2, 3, 4, 5};
    const std::vector<std::int32_t> z(1000, 7);
    const bool is_2 = version == ztensor::format_version::v2;
    out.add("a", {3}, a, ztensor::store().digest(is_2 ? ztensor::digest::xxh3 : ztensor::digest::crc32c)).value();
    out.add("b", {5}, b).value();
    out.add("z", {10, 100}, z, ztensor::store().zstd(1)).value();
    out.finish().value();
}

std::map<std::string, std::vector<std::byte>> content_of(const std::filesystem::path& path) {
    const auto file = ztensor::reader::open(path, ztensor::read_options().mode(ztensor::io_mode::positional));
    if (!file) {
        std::cerr << file.error().what() << '\n';
        return {};
    }
    std::map<std::string, std::vector<std::byte>> content;
    for (const ztensor::object_view object : *file) {
        for (const ztensor::component_view part : object) {
            auto elements = part.read<std::byte>();
            if (!elements && elements.error().code() == ztensor::errc::unsupported_encoding) {
                elements = std::vector<std::byte>(); // all that can be said
            }
            if (!elements) {
                std::cerr << elements.error().what() << '\n';
                return {};
            }
            content[std::string(object.name()) + (object.size() == 1 ? "" : "/" + std::string(part.role()))] =
                *std::move(elements);
        }
    }
    return content;
}

std::vector<std::byte> stored(const std::vector<float>& elements) {
    return support::to_vector(support::little_endian(elements));
}

std::vector<std::string> leftovers(const std::vector<std::string>& names) {
    std::vector<std::string> found;
    for (const std::string& name : names) {
        if (name.rfind(".ztensor-", 0) == 0) {
            found.push_back(name);
        }
    }
    return found;
}

} // namespace gone_on_with
