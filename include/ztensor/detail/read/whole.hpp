// SPDX-License-Identifier: MIT
//
// All elements of one component in typed memory. SPEC.md section 4.
#ifndef ZTENSOR_DETAIL_READ_WHOLE_HPP
#define ZTENSOR_DETAIL_READ_WHOLE_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/os/prefault.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The elements are as the caller wants them: in the host's byte order, and bools that are 0 or 1.
[[nodiscard]] inline result<void> to_host(const component_record& component, const element_request& request,
                                          span<std::byte> decoded) {
    to_host_order(component, request, decoded);
    return request.is_bool ? normalise_bools(component, decoded) : result<void>();
}

/// All bytes of raw data, into memory that grows with what is read.
[[nodiscard]] inline result<span<std::byte>> read_growing(const opened_file& file, const component_record& component,
                                                          const element_request& request, element_memory elements) {
    const auto total = static_cast<std::size_t>(component.length / request.size_bytes);
    const std::size_t piece = (std::max<std::size_t>)(cached_piece_bytes / request.size_bytes, 1);
    const prefault ahead(reserve_large(elements, total, request.size_bytes), threads_for_pages(file));
    blob_check check(file, component);
    span<std::byte> memory;
    for (std::size_t done = 0; done < total; done += piece) {
        const std::size_t more = (std::min)(piece, total - done);
        memory = elements.resize(elements.owner, done + more);
        const span<std::byte> added = memory.last(more * request.size_bytes);
        result<void> read =
            read_checked(file, component, static_cast<std::uint64_t>(done) * request.size_bytes, added, check);
        if (!read) {
            return std::move(read).error();
        }
    }
    result<void> intact = check.finish();
    return intact ? result<span<std::byte>>(memory) : std::move(intact).error();
}

/// All elements, into memory that is made when their number is known.
[[nodiscard]] inline result<void> read_elements(const opened_file& file, const component_record& component,
                                                const element_request& request, element_memory elements) {
    ZTENSOR_TRY_ASSIGN(const std::optional<std::uint64_t> count, count_loadable_elements(file, component, request));
    span<std::byte> memory;
    if (count && component.encoding == encoding::raw && elements.reserve != nullptr) {
        ZTENSOR_TRY_ASSIGN(const span<std::byte> read, read_growing(file, component, request, elements));
        memory = read;
    } else if (count) {
        memory = elements.resize(elements.owner, static_cast<std::size_t>(*count));
        ZTENSOR_TRY(decode(file, component, memory));
    } else { // only decoding tells
        byte_buffer decoded;
        ZTENSOR_TRY_ASSIGN(const span<std::byte> whole, decode_whole(file, component, decoded));
        ZTENSOR_TRY(check_whole_elements(whole.size(), request.size_bytes));
        memory = elements.resize(elements.owner, whole.size() / request.size_bytes);
        if (!memory.empty()) {
            std::memcpy(memory.data(), whole.data(), memory.size());
        }
    }
    return to_host(component, request, memory);
}

/// Of a failure, which is passed on: no byte but 0 and 1 must stay behind in bools.
[[nodiscard]] inline result<void> leave_bools(result<void> done, const element_request& request,
                                              span<std::byte> destination) {
    if (!done && request.is_bool && !destination.empty()) {
        std::memset(destination.data(), 0, destination.size());
    }
    return done;
}

/// All elements, into the caller's memory.
[[nodiscard]] inline result<void> read_elements_into(const opened_file& file, const component_record& component,
                                                     const element_request& request, span<std::byte> destination) {
    ZTENSOR_TRY_ASSIGN(const std::optional<std::uint64_t> count, count_loadable_elements(file, component, request));
    const std::size_t room = destination.size() / request.size_bytes;
    if (count && *count != room) {
        return wrong_destination(room, *count);
    }
    result<void> done = decode(file, component, destination);
    if (done) {
        done = to_host(component, request, destination);
    }
    return leave_bools(std::move(done), request, destination);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
