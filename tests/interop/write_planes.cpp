// SPDX-License-Identifier: MIT
//
// Writes tensors in planes, each beside the same elements stored raw, for check_planes.py: write_planes FILE [small].
// Small ones, as those of tests/corpus/planes, are given as planes, because the library stores them dense otherwise.
#include "support/bytes.hpp"
#include "support/plane_content.hpp"

#include <ztensor/object_draft.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

using ztensor::dtype;
using ztensor::object_draft;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::writer;
namespace planes = support::planes;

/// As the library stores what is large.
object_draft draft_of(dtype type, const shape& dimensions, const planes::split& parts) {
    const store how = store().digest(ztensor::digest::crc32c);
    object_draft draft("ztensor-cpp.planes/1", dimensions);
    draft.component_bytes("exponent", dtype::u8, support::bytes_of(parts.exponents), store(how).planes());
    draft.component_bytes("fraction", dtype::u8, support::bytes_of(parts.fractions), how);
    draft.attributes(planes::attributes_of(name(type)));
    return draft;
}

result<void> add(writer& to, dtype type, const planes::content& content, bool is_small) {
    const std::size_t width = ztensor::width_bytes(type);
    const shape dimensions = {4, content.elements.size() / width / 4};
    const std::string name = std::string(ztensor::name(type)) + " " + content.name;
    const auto elements = support::bytes_of(content.elements);
    if (result<void> raw = to.add_bytes(name + ".raw", dimensions, type, elements); !raw) {
        return raw;
    }
    return is_small ? to.add_object(name, draft_of(type, dimensions, planes::split_of(content.elements, width)))
                    : to.add_bytes(name, dimensions, type, elements, store().planes().digest(ztensor::digest::crc32c));
}

result<void> write(const char* path, bool is_small) {
    result<writer> to = writer::create(path, ztensor::write_options().sync(false));
    for (const dtype type : planes::types) {
        for (const planes::content& each : planes::contents(type, is_small ? 64 : 300000)) {
            const std::string kind = each.name;
            const bool is_wanted = !is_small || kind == "weights" || kind == "special numbers";
            if (result<void> added = to && is_wanted ? add(*to, type, each, is_small) : result<void>(); !added) {
                return added;
            }
        }
    }
    return to ? to->finish() : to.error();
}

} // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::fputs("write_planes FILE [small]\n", stderr);
        return 2;
    }
    const result<void> done = write(words[1], count > 2);
    if (!done) {
        std::fprintf(stderr, "%s\n", done.error().what().c_str());
    }
    return done ? 0 : 1;
}
