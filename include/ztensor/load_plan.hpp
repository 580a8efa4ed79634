// SPDX-License-Identifier: MIT
//
// Many tensors at once: what is wanted is said first, checked as a whole, and then read in the order of the file by
// several threads.
#ifndef ZTENSOR_LOAD_PLAN_HPP
#define ZTENSOR_LOAD_PLAN_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Dense tensors to be read from one file into memory of the caller's, which must stay until the plan has run. Holds
/// the reader. A plan may be run again; adding to it while it runs is not allowed, and destinations may not overlap.
class load_plan {
public:
    explicit load_plan(reader from) noexcept : file_(std::move(from)) {}

    /// The elements of an object as read_into() reads them, into a span or a container of the right size.
    template <class Destination>
    load_plan& add(std::string_view name, Destination&& destination) noexcept {
        return add(name, whole_into(span_of<Destination>(destination)), {});
    }
    /// The elements as object_view::read_as_into() reads them: floats or doubles, of packed elements and of quantized
    /// weights, too.
    template <class Destination>
    load_plan& add_as(std::string_view name, Destination&& destination) noexcept {
        const auto memory = span_of<Destination>(destination);
        using number = typename decltype(memory)::value_type;
        static_assert(std::is_same_v<number, float> || std::is_same_v<number, double>,
                      "elements are converted to floats or doubles");
        detail::wanted_tensor wanted = whole_into(memory);
        wanted.number_bytes = sizeof(number);
        return add(name, std::move(wanted), {});
    }
    /// Rows [first, last) of the outermost dimension, as read_rows_into() reads them.
    template <class Destination>
    load_plan& add_rows(std::string_view name, std::uint64_t first, std::uint64_t last,
                        Destination&& destination) noexcept {
        detail::wanted_tensor wanted = whole_into(span_of<Destination>(destination));
        wanted.part = detail::wanted_tensor::part_kind::rows;
        return add(name, std::move(wanted), {{first, last}});
    }
    /// A range of indices in each dimension, as read_slice_into() reads them.
    template <class Destination>
    load_plan& add_slice(std::string_view name, const slice& ranges, Destination&& destination) noexcept {
        detail::wanted_tensor wanted = whole_into(span_of<Destination>(destination));
        wanted.part = detail::wanted_tensor::part_kind::slice;
        return add(name, std::move(wanted), ranges);
    }

    /// How many tensors were added.
    [[nodiscard]] std::size_t size() const noexcept { return wanted_.size(); }

    /// What run() looks at before the first byte is read; gives how many bytes it will decode. Errors: as run() has
    /// them then.
    result<std::uint64_t> check() const;

    /// Reads them all. Before the first byte is read everything is checked, and what is missing or does not fit is one
    /// error with a sentence for each, of the code of the first. Digests are verified unless read_options say no, but
    /// none of rows and slices. Returns, or throws what a source or the progress function threw, when no thread works
    /// for it any more; what the destinations hold after a failure is unspecified.
    /// Errors: object_not_found, unsupported_format and those of the calls named above, limit_exceeded (of
    /// max_staging_bytes too), cancelled, out_of_memory, and what the source says.
    result<load_report> run(const load_options& options = {}) const;

private:
    template <class Destination>
    [[nodiscard]] static auto span_of(std::remove_reference_t<Destination>& destination) noexcept {
        static_assert(!detail::is_dying_owner_v<Destination&&>,
                      "the destination is a temporary, and gone before the plan runs: keep it in a variable");
        return detail::span_of_destination(destination);
    }
    template <class T>
    [[nodiscard]] static detail::wanted_tensor whole_into(span<T> destination) noexcept {
        detail::wanted_tensor wanted;
        wanted.request = detail::element_request_of<T>();
        wanted.destination = detail::as_writable_bytes(destination);
        return wanted;
    }
    /// Memory that runs out here is told by run().
    load_plan& add(std::string_view name, detail::wanted_tensor wanted, const slice& ranges) noexcept;

    reader file_;
    std::vector<detail::wanted_tensor> wanted_;
    bool is_out_of_memory_ = false;
};

/// A tensor in memory of its own.
struct loaded_tensor {
    object_view object;     ///< borrowed from the reader
    array<std::byte> bytes; ///< its elements, in the host's byte order; of an unknown type as they are stored
};

/// All dense objects of a file, in the order of the manifest, through one plan. Errors: as load_plan::run().
result<std::vector<loaded_tensor>> read_all(const reader& from, const load_options& options = {});
/// The objects would be gone with a temporary reader.
result<std::vector<loaded_tensor>> read_all(const reader&& from, const load_options& options = {}) = delete;

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/load_plan_definitions.hpp>
#endif

#endif
