// SPDX-License-Identifier: MIT
//
// The input as the zstd blob of a tensor: decoded to exactly what libzstd makes of it, or refused; never more than was
// stated, in one piece, in slices and by a plan.
#include "fuzz/fuzzing.hpp"

#include "support/cbor.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <zstd.h>

#include <algorithm>
#include <vector>

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

/// What libzstd itself decodes, up to the limit; nothing if it refuses.
std::vector<std::byte> decoded_by_libzstd(ztensor::bytes_view frames) {
    std::vector<std::byte> decoded(static_cast<std::size_t>(fuzzing::max_decoded_bytes));
    const std::size_t size = ZSTD_decompress(decoded.data(), decoded.size(), frames.data(), frames.size());
    decoded.resize(ZSTD_isError(size) != 0 ? 0 : size);
    return decoded;
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const std::vector<std::byte> expected = decoded_by_libzstd(input);
    const std::uint64_t stated = expected.empty() ? input.size() % 5000 : expected.size();
    const support::bytes content =
        support::sample().dtype("u8").shape({stated}).zstd_blob(support::bytes(as_text(input)), stated).file();
    const own_copy memory(support::bytes_of(content));
    const auto file = ztensor::reader::from_bytes(memory.bytes(), small_limits());
    if (!file) {
        return;
    }
    const auto whole = file->read<std::byte>("w");
    require(!whole || *whole == expected, "what is decoded is what libzstd decodes");
    const auto part = (*file)["w"].rows(stated / 3, stated - stated / 5).read<std::uint8_t>();
    require(!whole || part.has_value(), "what can be read whole can be read in part");
    if (whole && part) {
        const auto* const start =
            static_cast<const std::uint8_t*>(static_cast<const void*>(whole->data())) + stated / 3;
        require(std::equal(part->begin(), part->end(), start), "a part is a part of the whole");
    }
    std::vector<std::uint8_t> destination(static_cast<std::size_t>(stated));
    const auto report = ztensor::load_plan(*file).add("w", destination).run(ztensor::load_options().threads(1));
    require(report.has_value() == whole.has_value(), "a plan and a read end alike");
    static_cast<void>(file->verify(1));
}
