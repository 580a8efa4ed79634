// SPDX-License-Identifier: MIT
#include "support/watched_source.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace support {

std::ostream& operator<<(std::ostream& out, const read_range& a) {
    return out << a.length << " bytes at " << a.offset;
}

watched_source::watched_source(const bytes& content, bool is_mapped)
    : content_(to_vector(content)), is_mapped_(is_mapped) {
    best.requests_in_flight = 1;
}

ztensor::result<void> watched_source::read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const {
    if (note({offset, destination.size()})) {
        return ztensor::error(failure, "the connection was lost");
    }
    if (offset > content_.size() || destination.size() > content_.size() - offset) { // of threads that may not assert
        std::fputs("a read behind the end of watched content\n", stderr);
        std::abort();
    }
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
    return {};
}

bool watched_source::note(const read_range& read) const {
    const std::lock_guard<std::mutex> alone(noting_);
    reads.push_back(read);
    return reads.size() > first_failing_read;
}

ztensor::bytes_view watched_source::mapped() const noexcept {
    return is_mapped_ ? ztensor::bytes_view(content_) : ztensor::bytes_view();
}

ztensor::result<void> watched_source::check_unchanged() const {
    return has_shrunk ? ztensor::result<void>(ztensor::error(ztensor::errc::file_changed, "it became shorter"))
                      : ztensor::result<void>();
}

watched watch(const bytes& content, bool is_mapped, const ztensor::read_options& options) {
    auto source = std::make_shared<watched_source>(content, is_mapped);
    ztensor::reader file = ztensor::reader::from_source(source, options).value();
    source->reads.clear();
    return {source, std::move(file)};
}

read_ranges sorted(read_ranges reads) {
    const auto is_of_nothing = [](const read_range& each) { return each.length == 0; };
    reads.erase(std::remove_if(reads.begin(), reads.end(), is_of_nothing), reads.end());
    std::sort(reads.begin(), reads.end(), [](const read_range& a, const read_range& b) {
        return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
    });
    return reads;
}

read_ranges merged(read_ranges reads) {
    read_ranges out;
    for (const read_range& each : sorted(std::move(reads))) {
        if (!out.empty() && each.offset <= out.back().offset + out.back().length) {
            CHECK(each.offset == out.back().offset + out.back().length); // no byte twice
            out.back().length = each.offset + each.length - out.back().offset;
        } else {
            out.push_back(each);
        }
    }
    return out;
}

} // namespace support
