// SPDX-License-Identifier: MIT
//
// The decoded bytes of whole components, and of parts of them.
#ifndef ZTENSOR_DETAIL_READ_PARTS_HPP
#define ZTENSOR_DETAIL_READ_PARTS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/arriving.hpp>
#include <ztensor/detail/read/decode.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- whole
//
// All elements of one component in typed memory. SPEC.md section 4.

/// The elements are as the caller wants them: in the host's byte order, and bools that are 0 or 1.
inline result<void> to_host(const component_record& component, const element_request& request, span<byte> decoded) {
    to_host_order(component, request, decoded);
    return request.is_bool ? normalise_bools(component, decoded) : result<void>();
}

/// All bytes of raw data, into memory that grows with what is read.
inline result<span<byte>> read_growing(const opened_file& file, const component_record& component,
                                       const element_request& request, element_memory elements) {
    const auto total = static_cast<size_t>(component.length / request.size_bytes);
    // What a disk has to give is asked for as a whole. What comes from elsewhere may never come: it takes memory as it
    // arrives.
    const bool is_cold = source_access::is_cold(*file.source, component.offset, component.length);
    const size_t piece = is_cold ? total : (std::max<size_t>)(cached_piece_bytes / request.size_bytes, 1);
    const prefault ahead(reserve_large(elements, total, request.size_bytes), threads_for_pages(file));
    const read_ahead stored(file.options.threads(), *file.source, component.offset, component.length);
    blob_check check(file, component);
    span<byte> memory;
    for (size_t done = 0; done < total; done += piece) {
        const size_t more = (std::min)(piece, total - done);
        memory = elements.resize(elements.owner, done + more);
        const span<byte> added = memory.last(more * request.size_bytes);
        result<void> read =
            read_checked(file, component, static_cast<uint64_t>(done) * request.size_bytes, added, check);
        if (!read) {
            return std::move(read).error();
        }
    }
    result<void> intact = check.finish();
    return intact ? result<span<byte>>(memory) : std::move(intact).error();
}

/// Of a failure, which is passed on: no byte but 0 and 1 must stay behind in bools of the caller's.
inline result<void> leave_bools(result<void> done, const element_request& request, const element_memory& elements) {
    if (!done && request.is_bool && !elements.given.empty()) {
        std::memset(elements.given.data(), 0, elements.given.size());
    }
    return done;
}

/// All elements of a blob of which only decoding tells how many there are, into memory that is made then.
inline result<span<byte>> read_uncounted(const opened_file& file, const component_record& component,
                                         const element_request& request, const element_memory& elements) {
    byte_buffer decoded;
    ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(file, component, decoded));
    ZTENSOR_TRY(check_whole_elements(whole.size(), request.size_bytes));
    const span<byte> memory = elements.resize(elements.owner, whole.size() / request.size_bytes);
    if (!memory.empty()) {
        std::memcpy(memory.data(), whole.data(), memory.size());
    }
    return memory;
}

/// Where the caller wants that, once all of it was read: what the system has read ahead meanwhile goes, too.
inline void drop_behind(const opened_file& file, const component_record& component) noexcept {
    if (!file.options.drops_behind()) {
        return;
    }
    for (const component_record& blob : blobs_of(file, component)) {
        file.source->evict(blob.offset, blob.length);
    }
}

/// All elements.
inline result<void> read_elements(const opened_file& file, const component_record& component,
                                  const element_request& request, const element_memory& elements) {
    ZTENSOR_TRY_ASSIGN(const optional<uint64_t> count, count_loadable_elements(file, component, request));
    span<byte> memory = elements.given;
    result<void> done;
    if (count && component.encoding == encoding::raw && elements.reserve != nullptr) {
        ZTENSOR_TRY_ASSIGN(memory, read_growing(file, component, request, elements));
    } else if (!count && elements.resize != nullptr) {
        ZTENSOR_TRY_ASSIGN(memory, read_uncounted(file, component, request, elements));
    } else if (elements.reserve != nullptr && !is_here(file, component)) {
        return read_as_it_comes(file, component, elements, request.size_bytes, [&](const element_memory& arriving) {
            return read_elements(file, component, request, arriving);
        });
    } else {
        ZTENSOR_TRY_ASSIGN(memory, count ? make_room(elements, *count, request.size_bytes) : memory);
        done = decode(file, component, memory);
    }
    drop_behind(file, component);
    if (done) {
        done = to_host(component, request, memory);
    }
    return leave_bools(std::move(done), request, elements);
}

// -- parts
//
// Some elements of one component in typed memory: rows, and ranges in every dimension. SPEC.md section 4.

/// Errors: invalid_argument for what is no shape, shape_mismatch.
ZTENSOR_COLD inline result<void> check_shape(const shape& found, const expected_shape& expected) {
    if (!expected.is_valid()) {
        return fail(errc::invalid_argument, "the shape that is expected has a negative dimension, or more than {}",
                    {max_rank});
    }
    if (expected.matches(found)) {
        return {};
    }
    const bool is_transposed = found.rank() == 2 && expected.matches({found[1], found[0]});
    return fail(errc::shape_mismatch, "its shape is {}, expected {}{}",
                {to_string(found), to_string(expected), is_transposed ? ": it is transposed" : ""});
}

/// Every range lies in its dimension. Errors: invalid_argument, out_of_bounds.
inline result<void> check_slice(const shape& dimensions, const slice& wanted) {
    const span<const index_range> ranges = wanted.ranges();
    if (ranges.size() != dimensions.rank()) {
        return fail(errc::invalid_argument, "{} ranges were given for the {} dimensions of shape {}",
                    {ranges.size(), dimensions.rank(), to_string(dimensions)});
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].begin > ranges[i].end || ranges[i].end > dimensions[i]) {
            return fail(errc::out_of_bounds, "indices {} to {} of dimension {} were asked for, of shape {}",
                        {ranges[i].begin, ranges[i].end, i, to_string(dimensions)})
                .by_caller();
        }
    }
    return {};
}

/// Ranges in every dimension; of rows the first alone was given. Errors: out_of_bounds, invalid_argument,
/// out_of_memory.
inline result<vector<index_range>> ranges_in(const shape& dimensions, const shape& begins, const shape& ends,
                                             bool are_rows) {
    if (!begins.is_valid() || !ends.is_valid()) {
        return fail(begins.too_long() ? errc::invalid_argument : errc::out_of_memory,
                    "a slice has more than {} ranges, or there is no memory for them", {max_rank});
    }
    if (are_rows && (dimensions.empty() || begins[0] > ends[0] || ends[0] > dimensions[0])) {
        return fail(errc::out_of_bounds, "rows {} to {} were asked for, of shape {}",
                    {begins[0], ends[0], to_string(dimensions)})
            .by_caller();
    }
    vector<index_range> ranges;
    for (size_t i = 0; i < begins.rank(); ++i) {
        ranges.push_back({begins[i], ends[i]});
    }
    for (size_t i = 1; are_rows && i < dimensions.rank(); ++i) {
        ranges.push_back({0, dimensions[i]});
    }
    ZTENSOR_TRY(check_slice(dimensions, slice(span<const index_range>(ranges))));
    return ranges;
}

/// Where some elements of a component lie in its decoded bytes, and how many of them there are.
struct element_part {
    byte_runs runs;
    uint64_t count;
};

/// Says it of a component that decodes to `decoded_bytes`.
class part_finder {
public:
    /// Parts [first, last) of `parts` equal ones.
    part_finder(uint64_t first, uint64_t last, uint64_t parts) noexcept : first_(first), last_(last), parts_(parts) {}
    /// A range in each dimension, which were checked.
    part_finder(const shape& dimensions, span<const index_range> ranges) noexcept
        : dimensions_(&dimensions), ranges_(ranges) {}

    /// Errors: out_of_bounds; size_mismatch where elements would be cut.
    result<element_part> operator()(uint64_t decoded_bytes, size_t element_bytes) const {
        if (dimensions_ == nullptr) {
            ZTENSOR_TRY_ASSIGN(const element_range part, part_of(decoded_bytes / element_bytes, first_, last_, parts_));
            const uint64_t count = part.end - part.begin;
            return element_part{byte_runs(part.begin * element_bytes, count * element_bytes), count};
        }
        const uint64_t elements = dimensions_->element_count().value_or(0); // of the shape: known when opened
        if (elements != 0 && decoded_bytes % elements != 0) {
            return fail(errc::size_mismatch, "{} bytes are no whole number for each of {} elements",
                        {decoded_bytes, elements});
        }
        const uint64_t each = elements == 0 ? element_bytes : decoded_bytes / elements;
        uint64_t count = elements == 0 ? 0 : 1;
        for (const index_range& range : ranges_) {
            count *= range.end - range.begin;
        }
        ZTENSOR_TRY(check_whole_elements(count * each, element_bytes));
        return element_part{byte_runs(*dimensions_, ranges_, each), count * each / element_bytes};
    }

private:
    uint64_t first_ = 0;
    uint64_t last_ = 0;
    uint64_t parts_ = 0;
    const shape* dimensions_ = nullptr;
    span<const index_range> ranges_;
};

/// Some elements, into memory that may be touched at once; of raw data and of several zstd frames reading no others.
inline result<void> read_part_of(const opened_file& file, const component_record& component,
                                 const element_request& request, const part_finder& find,
                                 const element_memory& elements) {
    ZTENSOR_TRY_ASSIGN(const optional<uint64_t> count, count_elements(file, component, request));
    byte_buffer decoded;
    span<byte> whole;
    if (!count) { // only decoding tells
        ZTENSOR_TRY_ASSIGN(const span<byte> done, decode_whole(file, component, decoded));
        ZTENSOR_TRY(check_whole_elements(done.size(), request.size_bytes));
        whole = done;
    }
    ZTENSOR_TRY_ASSIGN(const element_part part,
                       find(count ? *count * request.size_bytes : whole.size(), request.size_bytes));
    ZTENSOR_TRY(check_memory_limit(part.count * request.size_bytes, file.options));
    ZTENSOR_TRY_ASSIGN(const span<byte> memory, make_room(elements, part.count, request.size_bytes));
    result<void> done;
    if (count) {
        uint64_t read_bytes = 0;
        done = read_runs(file, component, part.runs, memory, read_bytes);
    } else {
        byte_runs runs = part.runs;
        span<byte> destination = memory;
        copy_runs(runs, whole, 0, destination);
    }
    if (done) {
        done = to_host(component, request, memory);
    }
    return leave_bools(std::move(done), request, elements);
}

/// The same, into any memory.
inline result<void> read_part(const opened_file& file, const component_record& component,
                              const element_request& request, const part_finder& find, const element_memory& elements) {
    return read_as_it_comes(file, component, elements, request.size_bytes, [&](const element_memory& memory) {
        return read_part_of(file, component, request, find, memory);
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
