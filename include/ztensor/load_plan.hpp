// SPDX-License-Identifier: MIT
//
// Many tensors at once: what is wanted is said first, checked as a whole, and then read in the order of the files by
// several threads.
#ifndef ZTENSOR_LOAD_PLAN_HPP
#define ZTENSOR_LOAD_PLAN_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <class T>
struct pitched_rows;

namespace detail {

struct load_plan_access;

template <class T>
inline constexpr bool is_pitched_v = false;
template <class T>
inline constexpr bool is_pitched_v<pitched_rows<T>> = true;

} // namespace detail

/// What a plan is asked for: the name of a tensor, an object, or a part of one. Of an object it keeps the name and
/// which file it is of.
class load_source {
public:
    load_source(const char* name) noexcept : name_(name) {}
    load_source(std::string_view name) noexcept : name_(name) {}
    load_source(const std::string& name) noexcept : name_(name) {}
    load_source(const object_view& object) noexcept;
    load_source(const selection& part) noexcept;

private:
    friend class load_plan;

    std::string_view name_;
    const detail::opened_file* file_ = nullptr;
    const selection* part_ = nullptr;
};

/// Memory whose rows lie apart, for the elements of a tensor: `first` is that of the first row, and each begins
/// `row_bytes` behind the one before. A row is the last dimension.
template <class T>
struct pitched_rows {
    T* first;              ///< of the first row
    std::size_t row_bytes; ///< from the begin of a row to that of the next
};
/// Rows that lie apart, as a destination.
template <class T>
[[nodiscard]] pitched_rows<T> into(T* first, std::size_t row_bytes) noexcept {
    return {first, row_bytes};
}

/// Memory for elements whose type only the program's data knows: stored as `type`, or converted to it by add_as().
struct bytes_of_type {
    dtype type;            ///< of the elements
    span<std::byte> bytes; ///< as many as they take
};
/// Bytes of a type, as a destination.
[[nodiscard]] inline bytes_of_type into(dtype type, span<std::byte> bytes) noexcept {
    return {type, bytes};
}

/// Tensors to be read into memory of the caller's, which must stay until the plan has run: from one file or from the
/// files of one reader, which it holds. A plan may be run again; adding to it while it runs is not allowed.
///
/// A destination is a span or a container of the right size, memory whose rows lie apart, or bytes with a dtype: see
/// into(). A temporary that would be gone does not compile. `expected` is the shape that the caller expects.
class load_plan {
public:
    explicit load_plan(reader from) noexcept : file_(std::move(from)) {}

    /// The elements as readable::read_into() reads them.
    template <class Destination>
    load_plan& add(const load_source& what, Destination&& destination) noexcept {
        return add(what, to<Destination, false>(destination), expected_shape::anything(), false);
    }
    template <class Destination>
    load_plan& add(std::string_view name, const expected_shape& expected, Destination&& destination) noexcept {
        return add(name, to<Destination, false>(destination), expected, false);
    }
    /// Rows of the outermost dimension.
    template <class Destination>
    load_plan& add(std::string_view name, row_range rows, Destination&& destination) noexcept {
        return add_rows(name, rows, to<Destination, false>(destination));
    }

    /// The elements as readable::read_as_into() reads them: as float, double, float16 or bfloat16.
    template <class Destination>
    load_plan& add_as(const load_source& what, Destination&& destination) noexcept {
        return add(what, to<Destination, true>(destination), expected_shape::anything(), false);
    }
    template <class Destination>
    load_plan& add_as(std::string_view name, const expected_shape& expected, Destination&& destination) noexcept {
        return add(name, to<Destination, true>(destination), expected, false);
    }
    template <class Destination>
    load_plan& add_as(std::string_view name, row_range rows, Destination&& destination) noexcept {
        return add_rows(name, rows, to<Destination, true>(destination));
    }

    /// The same of a tensor that may be absent; its destination then stays as it is.
    template <class Destination>
    load_plan& add_optional(std::string_view name, const expected_shape& expected, Destination&& destination) noexcept {
        return add(name, to<Destination, false>(destination), expected, true);
    }
    /// The same, converted.
    template <class Destination>
    load_plan& add_optional_as(std::string_view name, const expected_shape& expected,
                               Destination&& destination) noexcept {
        return add(name, to<Destination, true>(destination), expected, true);
    }

    /// How many tensors were added.
    [[nodiscard]] std::size_t size() const noexcept { return wanted_.size(); }
    /// Names of the objects that were not asked for, in the order of the reader: empty if all of it is used. Borrowed
    /// from the plan. Throws std::bad_alloc.
    [[nodiscard]] std::vector<std::string_view> unused() const&;
    std::vector<std::string_view> unused() const&& = delete;

    /// What run() looks at before the first byte is read; gives how many bytes it will decode. Errors: as run() has
    /// them then.
    result<std::uint64_t> check() const;
    /// Hints to the files that all of it will be read soon, as component_view::prefetch() does. Errors: as check().
    result<void> prefetch() const;

    /// Reads them all, file by file. Before the first byte is read everything is checked, and what is missing or does
    /// not fit is one error with a sentence for each, of the code of the first. Digests are verified unless
    /// read_options say no, but none of parts. Returns, or throws what a source or the progress function threw, when no
    /// thread works for it any more; what the destinations hold after a failure is unspecified. What goes to rows that
    /// lie apart is read into memory of its own first. Errors: object_not_found, unsupported_format, shape_mismatch and
    /// those of the calls named above, invalid_argument (an object of another reader; a destination that overlaps
    /// another one, or whose own rows do; a dtype that is not the one of a conversion), limit_exceeded (of
    /// max_staging_bytes too), cancelled, out_of_memory, and what the source says.
    result<load_report> run(const load_options& options = {}) const;

private:
    friend struct detail::load_plan_access;

    template <class Destination, bool Converts>
    [[nodiscard]] static detail::load_destination to(std::remove_reference_t<Destination>& destination) noexcept {
        using given = std::remove_cv_t<std::remove_reference_t<Destination>>;
        detail::load_destination made;
        if constexpr (std::is_same_v<given, bytes_of_type>) {
            made.request = {destination.type, {}, width_bytes(destination.type), 1, false};
            made.bytes = destination.bytes;
            made.number = Converts ? std::optional<dtype>(destination.type) : std::nullopt;
        } else if constexpr (detail::is_pitched_v<given>) {
            set_type<std::remove_pointer_t<decltype(destination.first)>, Converts>(made);
            made.rows = detail::as_writable_bytes(span(destination.first, 1)).data();
            made.row_bytes = destination.row_bytes;
        } else {
            static_assert(!detail::is_dying_owner_v<Destination&&>,
                          "the destination is a temporary, and gone before the plan runs: keep it in a variable");
            const auto memory = detail::span_of_destination(destination);
            set_type<typename decltype(memory)::value_type, Converts>(made);
            made.bytes = detail::as_writable_bytes(memory);
        }
        return made;
    }
    template <class T, bool Converts>
    static void set_type(detail::load_destination& made) noexcept {
        static_assert(!Converts || detail::is_number_v<T>,
                      "elements are converted in place to float, double, float16 or bfloat16");
        made.request = detail::element_request_of<T>();
        if constexpr (Converts) {
            made.number = element_traits<T>::storage;
        }
    }
    /// Memory that runs out here is told by run().
    load_plan& add(const load_source& what, const detail::load_destination& destination, const expected_shape& expected,
                   bool is_optional) noexcept;
    load_plan& add_rows(std::string_view name, row_range rows, const detail::load_destination& destination) noexcept;

    reader file_;
    std::vector<detail::load_request> wanted_;
    bool is_out_of_memory_ = false;
};

namespace detail {

/// For adaptors that share a plan out.
struct load_plan_access {
    [[nodiscard]] static const reader& reader_of(const load_plan& plan) noexcept { return plan.file_; }
    [[nodiscard]] static const std::vector<load_request>& requests_of(const load_plan& plan) noexcept {
        return plan.wanted_;
    }
    [[nodiscard]] static load_plan make(const reader& from, std::vector<load_request> wanted) {
        load_plan plan(from);
        plan.wanted_ = std::move(wanted);
        return plan;
    }
};

/// How the blob of a tensor can be shared out by ranges of its stored bytes.
struct blob_layout {
    std::uint64_t stored_bytes;
    std::uint64_t decoded_bytes;
    std::size_t element_bytes; ///< of an element, or a block, when it is decoded
    std::size_t made_bytes;    ///< of the same in the destination
};

struct blob_part_state;

/// A range of the stored bytes of a tensor, of zstd frames or raw with a digest, of which other processes have the
/// rest. Frames begin where only those before them tell: so the parts of a blob are joined in their order, and each
/// leaves to the next what it has of a frame, or of an element.
class blob_part {
public:
    /// Nothing for what can't be shared out so: a tensor that is small, seekable, or wanted in part or in rows that lie
    /// apart, and one with a digest that is not CRC-32C; nor for one that is raw and has none. Errors: as
    /// load_plan::check() has them.
    static result<std::optional<blob_layout>> find_layout(const reader& from, const load_request& wanted);

    /// Stored bytes [begin, end), with memory for them. Borrows the reader and the request.
    static result<blob_part> make(const reader& from, const load_request& wanted, std::uint64_t begin,
                                  std::uint64_t end);
    blob_part(blob_part&&) noexcept;
    ~blob_part();

    result<void> read(const load_options& options);
    /// What the bytes that were read add to the CRC-32C of the blob: those of all parts are combined by xor.
    [[nodiscard]] std::uint32_t crc32c() const noexcept;
    /// Finds the frames that end here. `carried` is what the part before left of the blob, which has `decoded_before`
    /// bytes of the tensor before it.
    result<void> join(span<const std::byte> carried, std::uint64_t decoded_before);
    /// After join(): what it leaves to the next part.
    [[nodiscard]] span<const std::byte> left_over() const noexcept;
    /// How many bytes of the tensor are decoded before what is left over.
    [[nodiscard]] std::uint64_t decoded_end() const noexcept;
    /// Decodes the frames into their places of the destination.
    result<void> decode(const load_options& options) const;
    /// Where the caller wants digests verified: errc::digest_mismatch unless the blob's is that of the sum.
    static result<void> check_crc32c(const reader& from, const load_request& wanted, std::uint32_t sum);

private:
    explicit blob_part(std::unique_ptr<blob_part_state> state) noexcept;

    std::unique_ptr<blob_part_state> state_;
};

} // namespace detail

/// A tensor in memory of its own.
struct loaded_tensor {
    object_view object;     ///< borrowed from the reader
    array<std::byte> bytes; ///< its elements, in the host's byte order; of an unknown type as they are stored
};

/// What read_all() gives: the tensors, and what else the reader holds.
struct loaded_tensors : std::vector<loaded_tensor> {
    /// Objects that have no elements of their own to read, since they are not dense, in the order of the reader: the
    /// name of each, and why. Their weights are read by name, see readable::read_as(), or component by component.
    std::vector<skipped_item> left_out;
};

/// All dense objects of a reader, in its order, through one plan, and a list of all others. Errors: as
/// load_plan::run().
result<loaded_tensors> read_all(const reader& from, const load_options& options = {});
/// The objects would be gone with a temporary reader.
result<loaded_tensors> read_all(const reader&& from, const load_options& options = {}) = delete;

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/blob_part_definitions.hpp>
#include <ztensor/detail/read/load_plan_definitions.hpp>
#endif

#endif
