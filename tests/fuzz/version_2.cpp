// SPDX-License-Identifier: MIT
//
// Any bytes as a manifest of version 2, between blobs of zeros and a footer with the right hash: read by templates it
// is what the general way makes of it, and a file that opens can be asked for everything in it.
#include "fuzz/every_way.hpp"
#include "fuzz/file_around_2.hpp"
#include "fuzz/fuzzing.hpp"
#include "fuzz/walk.hpp"

#include "index/described.hpp"

#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/reader.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

constexpr std::uint64_t blobs_end = 4 * 4096;

std::string read(ztensor::bytes_view encoded, bool uses_templates) {
    detail::manifest index;
    if (!index.index.allocate(encoded.size(), detail::scan_reach_bytes)) {
        return "no memory";
    }
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    const ztensor::read_options options;
    const std::uint64_t file_bytes = blobs_end + encoded.size() + detail::footer_bytes_2;
    const detail::manifest_location at = {detail::container::zt_2, blobs_end, encoded.size(), 0, false};
    ztensor::result<void> done = detail::parse_index(index, at, file_bytes, options, uses_templates);
    if (done) {
        done = detail::rulebook(index).check();
    }
    return done ? described::describe(index) : std::string(done.error().what());
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    if (input.empty()) {
        return;
    }
    const std::string fast = read(input, true);
    const std::string general = read(input, false);
    require(fast == general, "templates change nothing", fast + "\n" + general);
    const std::vector<std::byte> content = file_around_2(input, blobs_end);
    const auto file = ztensor::reader::from_bytes(content, small_limits());
    if (!file) {
        require(!file.error().what().empty(), "a refusal says why");
        return;
    }
    walk(content, *file);
    ask_every_way(*file);
    static_cast<void>(file->verify(1));
}
