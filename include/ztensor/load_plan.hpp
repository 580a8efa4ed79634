// SPDX-License-Identifier: MIT
//
// Many tensors at once: what is wanted is said first, checked as a whole, and then read in the order of the file by
// several threads.
#ifndef ZTENSOR_LOAD_PLAN_HPP
#define ZTENSOR_LOAD_PLAN_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/slice.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How far a plan is.
struct load_progress {
    std::uint64_t bytes_done = 0;  ///< decoded, and in their place
    std::uint64_t bytes_total = 0; ///< of the whole plan
    std::string_view name;         ///< of the tensor that was worked on last; "" at the end
};

/// A function or callable object, borrowed: bool(const load_progress&), where false cancels.
class progress_function {
public:
    progress_function() noexcept = default;
    progress_function(bool (*function)(const load_progress&)) noexcept
        : call_(function == nullptr
                    ? nullptr
                    : +[](const progress_function& self, const load_progress& now) { return self.function_(now); }),
          function_(function) {}
    template <class Callable, std::enable_if_t<std::is_class_v<std::remove_reference_t<Callable>> &&
                                                   !std::is_base_of_v<progress_function, std::decay_t<Callable>> &&
                                                   std::is_invocable_r_v<bool, Callable&, const load_progress&>,
                                               int> = 0>
    progress_function(Callable&& callable) noexcept
        : call_([](const progress_function& self, const load_progress& now) {
              return static_cast<bool>((*static_cast<std::remove_reference_t<Callable>*>(self.object_))(now));
          }),
          object_(const_cast<void*>(static_cast<const void*>(&callable))) {}

    [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
    [[nodiscard]] bool operator()(const load_progress& now) const { return call_(*this, now); }

private:
    bool (*call_)(const progress_function& self, const load_progress& now) = nullptr;
    union {
        void* object_ = nullptr;
        bool (*function_)(const load_progress&);
    };
};

/// Options of load_plan::run() and read_all().
struct load_options {
    unsigned threads_ = 0;
    progress_function progress_;
    std::uint64_t max_staging_bytes_ = ~std::uint64_t{0};

    /// Threads that read and decode, the caller's included; 0, as many as the host runs at once. With 1 none is
    /// started. Fast disks and network stores take more than there are processors.
    load_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Called on the thread that runs the plan and on no other, each time that it has brought some bytes to their place
    /// (with what all threads have done), and once at the end of a plan that is carried out. Returns false to cancel;
    /// at the end its answer makes no difference. Borrowed until the plan has run. May throw, which ends the plan.
    load_options& progress(progress_function value) noexcept { return progress_ = value, *this; }
    /// Bytes that all threads together hold besides the destinations: small tensors that are read at once, blocks that
    /// are converted, and compressed frames, one or two for each thread. Unless set, as many as that takes. A frame
    /// that does not fit a thread's half share is limit_exceeded; below 1 MiB a thread fewer threads work. Not counted
    /// are compressed blobs below half a MiB, frames of which only a part is wanted, and compressed elements to be
    /// converted to narrower numbers.
    load_options& max_staging_bytes(std::uint64_t value) noexcept { return max_staging_bytes_ = value, *this; }
};

/// What a plan did.
struct load_report {
    std::uint64_t bytes_read = 0;    ///< of the file, gaps between small neighbours included
    std::uint64_t bytes_decoded = 0; ///< as they are stored, before conversion
    double seconds = 0;
};

namespace detail {

/// What a plan was asked for.
struct wanted_tensor {
    enum class part_kind : std::uint8_t { whole, rows, slice };

    std::string name;
    element_request request;      ///< of the destination's elements
    std::size_t number_bytes = 0; ///< not 0: converted to numbers of that size
    span<std::byte> destination;
    part_kind part = part_kind::whole;
    std::vector<index_range> ranges;
};

} // namespace detail

/// Dense tensors to be read from one file into memory of the caller's, which must stay until the plan has run. Holds
/// the reader. A plan may be run again; adding to it while it runs is not allowed, and destinations may not overlap.
class load_plan {
public:
    explicit load_plan(reader from) noexcept : file_(std::move(from)) {}

    /// The elements of an object as read_into() reads them, into a span or a container of the right size.
    template <class Destination>
    load_plan& add(std::string_view name, Destination&& destination) noexcept {
        return add(name, whole_into(span(destination)), {});
    }
    /// The elements as read_as_into() reads them: floats or doubles.
    template <class Destination>
    load_plan& add_as(std::string_view name, Destination&& destination) noexcept {
        const span memory(destination);
        using number = typename decltype(memory)::value_type;
        static_assert(std::is_same_v<number, float> || std::is_same_v<number, double>);
        detail::wanted_tensor wanted = whole_into(memory);
        wanted.number_bytes = sizeof(number);
        return add(name, std::move(wanted), {});
    }
    /// Rows [first, last) of the outermost dimension, as read_rows_into() reads them.
    template <class Destination>
    load_plan& add_rows(std::string_view name, std::uint64_t first, std::uint64_t last,
                        Destination&& destination) noexcept {
        detail::wanted_tensor wanted = whole_into(span(destination));
        wanted.part = detail::wanted_tensor::part_kind::rows;
        return add(name, std::move(wanted), {{first, last}});
    }
    /// A range of indices in each dimension, as read_slice_into() reads them.
    template <class Destination>
    load_plan& add_slice(std::string_view name, const slice& ranges, Destination&& destination) noexcept {
        detail::wanted_tensor wanted = whole_into(span(destination));
        wanted.part = detail::wanted_tensor::part_kind::slice;
        return add(name, std::move(wanted), ranges);
    }

    /// How many tensors were added.
    [[nodiscard]] std::size_t size() const noexcept { return wanted_.size(); }

    /// Reads them all. Before the first byte is read everything is checked, and what is missing or does not fit is one
    /// error with a sentence for each, of the code of the first. Digests are verified unless read_options say no, but
    /// none of rows and slices. Returns, or throws what a source or the progress function threw, when no thread works
    /// for it any more; what the destinations hold after a failure is unspecified.
    /// Errors: object_not_found, unsupported_format and those of the calls named above, limit_exceeded (of
    /// max_staging_bytes too), cancelled, out_of_memory, and what the source says.
    [[nodiscard]] result<load_report> run(const load_options& options = {}) const;

private:
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
[[nodiscard]] result<std::vector<loaded_tensor>> read_all(const reader& from, const load_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/load_plan_definitions.hpp>
#endif

#endif
