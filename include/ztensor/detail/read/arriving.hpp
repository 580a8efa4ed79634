// SPDX-License-Identifier: MIT
//
// Memory for elements of sources that may claim more than they send: it takes pages as bytes arrive.
#ifndef ZTENSOR_DETAIL_READ_ARRIVING_HPP
#define ZTENSOR_DETAIL_READ_ARRIVING_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>

#include <algorithm>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Elements whose type is known at run time only, in memory that takes no pages before it is written.
class untouched_elements {
public:
    explicit untouched_elements(size_t element_bytes) noexcept : element_bytes_(element_bytes) {}

    [[nodiscard]] span<byte> bytes() const noexcept { return bytes_.writable_bytes(); }
    [[nodiscard]] element_memory memory() noexcept {
        return {this, [](void* owner, size_t count) {
                    auto& mine = *static_cast<untouched_elements*>(owner);
                    const optional<uint64_t> wanted = checked_multiply(count, mine.element_bytes_);
                    if (!wanted || !fits_address_space(*wanted) ||
                        !mine.bytes_.allocate(static_cast<size_t>(*wanted))) {
                        raise_out_of_memory();
                    }
                    return mine.bytes();
                }};
    }

private:
    size_t element_bytes_;
    byte_buffer bytes_;
};

/// How much there is of the blob, the system or the caller says: a file, or memory. Of a source of another kind, such
/// as a server, only its own words tell, and its bytes may never come.
[[nodiscard]] inline bool is_here(const opened_file& file, const component_record& component) noexcept {
    return source_access::is_file(*file.source) ||
           source_access::mapped_range(*file.source, component.offset, component.length);
}

/// `read(memory) -> result<void>` reads elements: where making them writes them and their bytes may never come, into
/// memory that takes no pages before that, and then into `elements`, piece by piece, as the former pages go.
template <class Read>
result<void> read_as_it_comes(const opened_file& file, const component_record& component,
                              const element_memory& elements, size_t element_bytes, const Read& read) {
    if (elements.reserve == nullptr || is_here(file, component)) {
        return read(elements);
    }
    untouched_elements arrived(element_bytes);
    ZTENSOR_TRY(read(arrived.memory()));
    const bytes_view from = arrived.bytes();
    const size_t total = from.size() / element_bytes;
    const size_t piece = (std::max<size_t>)(huge_page_bytes / element_bytes, 1);
    reserve_large(elements, total, element_bytes);
    elements.resize(elements.owner, 0);
    for (size_t done = 0; done < total; done += piece) {
        const size_t more = (std::min)(piece, total - done), begin = done * element_bytes;
        const bytes_view next = from.subspan(begin, more * element_bytes);
        std::memcpy(elements.resize(elements.owner, done + more).data() + begin, next.data(), next.size());
        forget_pages(from, begin, next.size());
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
