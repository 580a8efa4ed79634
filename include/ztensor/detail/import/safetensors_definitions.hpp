// SPDX-License-Identifier: MIT
//
// The importer of safetensors. Defines what importer.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_SAFETENSORS_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_SAFETENSORS_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/safetensors.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_safetensors(const foreign_file& file) {
    constexpr std::uint64_t length_bytes = 8;
    constexpr std::uint64_t most_header_bytes = 100'000'000; // as the format's own library has it
    const std::uint64_t size = file.source->size();
    if (size < length_bytes) {
        return fail(errc::file_too_small, "a file of {} bytes is too small for safetensors", {size});
    }
    std::array<std::byte, length_bytes> length;
    ZTENSOR_TRY(file.source->read_at(0, length));
    const std::uint64_t header_bytes = load_little_64(length.data());
    if (header_bytes > size - length_bytes) {
        return fail(errc::manifest_out_of_bounds,
                    "the file claims a header of {} bytes, but has room for {}: it is damaged or cut off",
                    {header_bytes, size - length_bytes});
    }
    if (const std::uint64_t most = (std::min)(most_header_bytes, file.options.max_manifest_bytes_);
        header_bytes > most) {
        return fail(errc::manifest_too_large, "the header takes {} bytes, more than the {} allowed",
                    {header_bytes, most});
    }
    ZTENSOR_TRY_ASSIGN(const byte_buffer header, read_header(*file.source, length_bytes, header_bytes));
    const std::string_view text = as_text(header.bytes());
    if (text.empty() || text[0] != '{') {
        return fail(errc::header_malformed, "the header starts with {}, not with the brace of a JSON object",
                    {in_quotes(text.substr(0, 1))});
    }
    const std::uint64_t data_begin = length_bytes + header_bytes;
    safetensors_header plain(data_begin, size - data_begin);
    const plain_outcome outcome = plain_json<safetensors_header>(text, plain).run();
    if (outcome != plain_outcome::not_plain) {
        return finish_safetensors(file, outcome == plain_outcome::done ? result<void>() : plain.why(), plain);
    }
    safetensors_header found(data_begin, size - data_begin);
    return finish_safetensors(file, parse_json(text, found), found);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
