// SPDX-License-Identifier: MIT
//
// Sparse and quantized objects made of the input: dimensions, index types and contents as its bytes say. An index that
// lies outside must never be followed.
#include "fuzz/fuzzing.hpp"
#include "fuzz/walk.hpp"

#include "support/cbor.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <algorithm>
#include <string_view>

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 64 * fuzzing::max_decoded_bytes;

namespace {

/// The input, taken from its front piece by piece. Behind its end there are zeros.
class bytes_from_input {
public:
    explicit bytes_from_input(std::string_view rest) : rest_(rest) {}

    std::uint64_t number(std::size_t size = 1) {
        std::uint64_t value = 0;
        for (const char byte : take(size)) {
            value = value << 8 | static_cast<unsigned char>(byte);
        }
        return value;
    }
    support::bytes take(std::size_t size) {
        const std::string_view piece = rest_.substr(0, size);
        rest_.remove_prefix(piece.size());
        return support::bytes(piece);
    }

private:
    std::string_view rest_;
};

constexpr std::string_view index_types[] = {"u64", "i64", "u32", "i32", "u16", "i16", "u8", "i8", "f32", "bool"};
constexpr ztensor::version generations[] = {ztensor::version::v1_2, ztensor::version::v1_1, ztensor::version::v1_0};

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    bytes_from_input from(as_text(input));
    const std::uint64_t form = from.number();
    const std::string_view indices = index_types[from.number() % std::size(index_types)];
    const std::vector<std::uint64_t> shape = {from.number(), from.number(), from.number()};
    const auto part = [&](const char* role, std::string_view dtype) {
        return support::plain_part{role, std::string(dtype), from.take(static_cast<std::size_t>(from.number()))};
    };
    support::sample file(generations[form / 8 % 3]);
    const bool is_zstd = (form & 4) != 0;
    switch (form % 4) {
    case 0:
        file.stored_parts("sparse_csr", {shape[0], shape[1]},
                          {part("values", "f32"), part("indices", indices), part("indptr", indices)}, is_zstd);
        break;
    case 1:
        file.stored_parts("sparse_coo", form < 128 ? shape : std::vector<std::uint64_t>{shape[0], shape[1]},
                          {part("values", "f32"), part("coords", indices)}, is_zstd);
        break;
    default: {
        support::cbor::map parameters;
        parameters.set("bits", support::cbor::number(from.number() % 70));
        parameters.set("group_size", support::cbor::number(from.number(2)));
        parameters.set("packing", support::cbor::text(form < 128 ? "packed_le" : "other"));
        file.stored_parts("quantized_group", {shape[0], shape[1]},
                          {part("packed_weight", form % 4 == 2 ? "u32" : indices), part("scales", "f16"),
                           part("zeros", form % 4 == 2 ? "f16" : indices)},
                          is_zstd);
        file.object("attributes", parameters.encoded());
    }
    }
    const support::bytes content = file.file();
    const own_copy memory(support::bytes_of(content));
    const auto opened = ztensor::reader::from_bytes(memory.bytes(), small_limits());
    if (opened) {
        for (const ztensor::object_view object : *opened) {
            walk_layouts(object);
        }
    }
}
