// SPDX-License-Identifier: MIT
//
// One validated component of an open file: what it is, and its bytes as elements. SPEC.md §3.4.
#ifndef ZTENSOR_COMPONENT_VIEW_HPP
#define ZTENSOR_COMPONENT_VIEW_HPP

#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/codec.hpp>
#include <ztensor/detail/convert.hpp>
#include <ztensor/detail/elements.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

namespace detail {
struct component_access;
} // namespace detail

/// A component of an object. Cheap to copy; it and everything it hands out live as long as the reader it came from
/// (or any copy of that reader). Every member may be called from many threads at once.
///
/// `T` below is any type that element_traits describes, whose storage type is the component's; its logical type is
/// the component's too, or none (then the stored elements are read as such). std::byte stands for the decoded bytes
/// of any component, in the file's byte order, and std::uint8_t also for the bytes of bools.
/// Errors that any typed call may return, besides those it lists: unknown_dtype, type_mismatch, size_mismatch (no
/// whole number of T), too_large_for_host.
class component_view {
public:
    /// Made by object_view.
    component_view(const detail::opened_file& file, const detail::object_record& object,
                   const detail::component_record& record) noexcept
        : file_(&file), object_(&object), record_(&record) {}

    /// What it is in its object: "data", "values", "scales", …
    [[nodiscard]] std::string_view role() const noexcept { return detail::role_name(file_->index, *record_); }
    /// The storage type; nothing for a word that is none of the 13.
    [[nodiscard]] std::optional<ztensor::dtype> dtype() const noexcept { return record_->dtype; }
    /// Its name in the words of 1.2, or the file's own word for an unknown one.
    [[nodiscard]] std::string_view dtype_name() const noexcept { return detail::dtype_name(file_->index, *record_); }
    /// The word that stands for the storage type in the file: 0.1 and 1.0 use long names, and 1.1 names some logical
    /// types there.
    [[nodiscard]] std::string_view original_dtype() const noexcept {
        if (!record_->dtype_word.is_present() && record_->dtype) {
            return facts(*record_->dtype).long_name; // indices of 1.0, which state none
        }
        return file_->index.text(record_->dtype_word);
    }
    /// The logical type in the words of 1.2; "" if there is none.
    [[nodiscard]] std::string_view type() const noexcept { return detail::type_name(file_->index, *record_); }
    /// True if the file gives a logical type, even one of no letters.
    [[nodiscard]] bool has_type() const noexcept {
        return record_->type_word.is_present() || record_->logical_type < logical_types.size();
    }
    /// True for a logical type that the specification does not define, or that contradicts what stands beside it.
    [[nodiscard]] bool has_unknown_type() const noexcept { return record_->logical_type == detail::unknown_type; }
    /// "raw", "zstd", or an unknown word.
    [[nodiscard]] std::string_view encoding_name() const noexcept {
        return record_->encoding ? name(*record_->encoding) : file_->index.text(record_->encoding_word);
    }
    /// Nothing for a word that is unknown.
    [[nodiscard]] std::optional<ztensor::encoding> encoding() const noexcept { return record_->encoding; }
    /// Absolute position of the blob in the file, in bytes.
    [[nodiscard]] std::uint64_t offset() const noexcept { return record_->offset; }
    /// Length of the blob in the file, in bytes.
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return record_->length; }
    /// Size after decoding, in bytes, where it is known before decoding.
    [[nodiscard]] std::optional<std::uint64_t> decoded_bytes() const noexcept { return record_->decoded_length(); }
    /// The field uncompressed_length, where the file states it.
    [[nodiscard]] std::optional<std::uint64_t> uncompressed_length() const noexcept {
        return record_->states_uncompressed_length ? std::optional(record_->uncompressed_length) : std::nullopt;
    }
    /// True if the file gives a digest, even one of no letters.
    [[nodiscard]] bool has_digest() const noexcept { return record_->digest_text.is_present(); }
    /// The text of the digest, "algorithm:hex"; "" if there is none.
    [[nodiscard]] std::string_view digest() const noexcept { return file_->index.text(record_->digest_text); }
    /// Which generation of the format its file is of.
    [[nodiscard]] ztensor::generation generation() const noexcept { return file_->index.generation; }
    /// True for data of 0.1 stored most significant byte first. Everything else is little-endian.
    [[nodiscard]] bool is_big_endian() const noexcept { return record_->is_big_endian; }

    /// Whether its elements may be read as T, by type alone. Errors: unknown_dtype, type_mismatch.
    template <class T>
    [[nodiscard]] result<void> check() const {
        return guarded([&] { return detail::check_element_type(*file_, *record_, detail::element_request_of<T>()); });
    }

    /// The stored bytes (compressed, if they are stored compressed), borrowed. Touches and verifies nothing.
    /// Errors: not_viewable if the source is not in memory.
    [[nodiscard]] result<bytes_view> bytes() const {
        if (const std::optional<bytes_view> blob = detail::mapped_blob(*file_, *record_)) {
            return *blob;
        }
        return guarded([&]() -> result<bytes_view> {
            return error(errc::not_viewable, "the file is not mapped, so its bytes can't be borrowed");
        });
    }

    /// Copies stored bytes, from position `from` of the blob on, verifying nothing. Errors: out_of_bounds if the blob
    /// has fewer; what the source says.
    [[nodiscard]] result<void> read_stored_into(span<std::byte> destination, std::uint64_t from = 0) const {
        return guarded([&]() -> result<void> {
            if (!detail::fits(from, destination.size(), record_->length)) {
                return error(errc::out_of_bounds, std::to_string(destination.size()) + " bytes from byte " +
                                                      std::to_string(from) + " of a blob of " +
                                                      std::to_string(record_->length) + " were asked for");
            }
            return file_->source->read_at(record_->offset + from, destination);
        });
    }

    /// The elements where they lie, without a copy. Touches and verifies nothing.
    /// Errors: not_viewable (compressed, or not in memory), needs_byteswap, misaligned_memory.
    template <class T>
    [[nodiscard]] result<span<const T>> view() const {
        static_assert(!std::is_same_v<T, bool>, "stored bools are bytes of any value: view<std::uint8_t>() them");
        return guarded([&] {
            return detail::check_viewable(*file_, *record_, detail::element_request_of<T>())
                .and_then([this]() -> result<span<const T>> {
                    const bytes_view blob = *detail::mapped_blob(*file_, *record_);
                    if (!blob.empty() && !detail::is_aligned_for<T>(blob)) {
                        return detail::misaligned_for(alignof(T));
                    }
                    return detail::as_elements<T>(blob);
                });
        });
    }

    /// The elements in memory of the caller's own: decoded, verified (unless read_options say no), in the host's byte
    /// order. Bools become a std::vector<bool>.
    /// Errors: unsupported_encoding, limit_exceeded, out_of_memory, digest_mismatch, decode_failed, decode_size,
    /// bad_bool, and what the source says.
    template <class T>
    [[nodiscard]] result<std::vector<T>> read() const {
        return guarded([this] { return read_elements<T>(); });
    }

    /// The same into the caller's memory, with no temporary copy of the tensor (but of the compressed bytes, where the
    /// source is not in memory). What `destination` holds after a failure is unspecified.
    /// Errors: size_mismatch if `destination` has not as many elements (decode_size, where only decoding tells how
    /// many there are); as read().
    template <class T>
    [[nodiscard]] result<void> read_into(span<T> destination) const {
        return guarded([&] { return read_elements_into(destination); });
    }
    template <class Container, std::enable_if_t<!detail::is_span_v<Container>, int> = 0>
    [[nodiscard]] result<void> read_into(Container& destination) const {
        return read_into(span<typename Container::value_type>(destination));
    }

    /// The decoded bytes, least significant first whatever the file's order. Errors: as read<std::byte>(); of
    /// big-endian data unknown_dtype, needs_byteswap (of another layout than dense).
    [[nodiscard]] result<std::vector<std::byte>> read_little_endian() const {
        if (!record_->is_big_endian) {
            return read<std::byte>();
        }
        if (!record_->dtype) {
            return located(detail::unknown_dtype(*file_, *record_));
        }
        const std::size_t width = width_bytes(*record_->dtype);
        return located(detail::check_element_type(*file_, *record_, {*record_->dtype, {}, width})).and_then([&] {
            return read<std::byte>().transform([width](std::vector<std::byte> decoded) {
                detail::swap_elements(decoded, width);
                return decoded;
            });
        });
    }

    /// The elements as floating-point numbers, converted one by one (exactly, or to nearest where To has fewer bits)
    /// from whatever they are stored as: any dtype, and the 8-bit floats.
    /// Errors: unsupported_type (complex and unknown logical types); as read().
    template <class To>
    [[nodiscard]] result<std::vector<To>> read_as() const {
        return guarded([this] { return convert_elements<To>(); });
    }

    /// Elements of parts [first, last) of `parts` equal ones: the rows of a dense tensor. Reads no other byte of raw
    /// data, and verifies none. Errors: out_of_bounds (last > parts, first > last); as read().
    template <class T>
    [[nodiscard]] result<std::vector<T>> read_part(std::uint64_t first, std::uint64_t last, std::uint64_t parts) const {
        return guarded([&] { return read_elements_of_part<T>(first, last, parts); });
    }

    /// Whether the stored bytes are those that were digested. Reads all of them, whatever the options say.
    /// Errors: what the source says.
    [[nodiscard]] result<digest_state> verify() const {
        return guarded([this] { return detail::verify_digest(*file_, *record_); });
    }

private:
    friend struct detail::component_access;

    template <class Call>
    [[nodiscard]] std::invoke_result_t<Call> guarded(Call&& call) const {
        return located(detail::guard_memory(std::forward<Call>(call)));
    }
    /// Adds to an outcome's error where it happened.
    template <class T>
    [[nodiscard]] result<T> located(result<T> outcome) const {
        return std::move(outcome).transform_error([this](error why) { return located(std::move(why)); });
    }
    [[nodiscard]] error located(error why) const {
        return std::move(why).in_file(file_->path).in_object(file_->index.text(object_->name)).in_component(role());
    }

    template <class T>
    [[nodiscard]] result<std::vector<T>> read_elements() const {
        const result<std::optional<std::size_t>> count =
            detail::count_loadable_elements(*file_, *record_, detail::element_request_of<T>());
        if (!count) {
            return count.error();
        }
        if constexpr (std::is_same_v<T, bool>) {
            return read_elements<std::uint8_t>().and_then(
                [this](std::vector<std::uint8_t> bools) { return as_bools(std::move(bools)); });
        } else if (*count) {
            std::vector<T> elements(**count);
            result<void> read = read_elements_into(span<T>(elements));
            return read ? result<std::vector<T>>(std::move(elements)) : std::move(read).error();
        } else {
            return read_unsized<T>();
        }
    }

    [[nodiscard]] result<std::vector<bool>> as_bools(std::vector<std::uint8_t> bools) const {
        if (result<void> valid = detail::normalise_bools(*record_, bools); !valid) {
            return std::move(valid).error();
        }
        return std::vector<bool>(bools.begin(), bools.end());
    }

    /// For a decoded size that only decoding tells.
    template <class T>
    [[nodiscard]] result<std::vector<T>> read_unsized() const {
        result<std::vector<std::byte>> decoded = detail::decode(*file_, *record_);
        if (!decoded) {
            return std::move(decoded).error();
        }
        if (result<void> whole = detail::check_whole_elements(decoded->size(), sizeof(T)); !whole) {
            return std::move(whole).error();
        }
        std::vector<T> elements(decoded->size() / sizeof(T));
        const span<std::byte> bytes = detail::as_writable_bytes(span<T>(elements));
        std::copy(decoded->begin(), decoded->end(), bytes.begin());
        detail::to_host_order(*record_, detail::element_request_of<T>(), bytes);
        return elements;
    }

    template <class T>
    [[nodiscard]] result<void> read_elements_into(span<T> destination) const {
        const detail::element_request request = detail::element_request_of<T>();
        const result<std::optional<std::size_t>> count = detail::count_loadable_elements(*file_, *record_, request);
        if (!count) {
            return count.error();
        }
        if (count->value_or(destination.size()) != destination.size()) {
            return detail::wrong_destination(destination.size(), **count);
        }
        const span<std::byte> bytes = detail::as_writable_bytes(destination);
        result<void> decoded = detail::decode(*file_, *record_, bytes);
        if (decoded) {
            detail::to_host_order(*record_, request, bytes);
        }
        if constexpr (std::is_same_v<T, bool>) { // bytes that are neither 0 nor 1 must not stay behind in bools
            if (decoded) {
                decoded = detail::normalise_bools(*record_, bytes);
            }
            if (!decoded) {
                std::fill(bytes.begin(), bytes.end(), std::byte{0});
            }
        }
        return decoded;
    }

    template <class T>
    [[nodiscard]] result<std::vector<T>> read_elements_of_part(std::uint64_t first, std::uint64_t last,
                                                               std::uint64_t parts) const {
        const detail::element_request request = detail::element_request_of<T>();
        const result<std::optional<std::uint64_t>> count = detail::count_elements(*file_, *record_, request);
        if (!count) {
            return count.error();
        }
        const auto cut = [&](const std::vector<T>& all) -> result<std::vector<T>> {
            const result<detail::element_range> part = detail::part_of(all.size(), first, last, parts);
            if (!part) {
                return part.error();
            }
            return std::vector<T>(all.begin() + static_cast<std::ptrdiff_t>(part->begin),
                                  all.begin() + static_cast<std::ptrdiff_t>(part->end));
        };
        if constexpr (std::is_same_v<T, bool>) {
            return read_elements_of_part<std::uint8_t>(first, last, parts)
                .and_then([this](std::vector<std::uint8_t> bools) { return as_bools(std::move(bools)); });
        } else {
            if (record_->encoding != ztensor::encoding::raw) {
                return read_elements<T>().and_then(cut);
            }
            const result<detail::element_range> part = detail::part_of(**count, first, last, parts);
            if (!part) {
                return part.error();
            }
            const std::uint64_t part_bytes = (part->end - part->begin) * sizeof(T);
            if (result<void> allowed = detail::check_memory_limit(part_bytes, file_->options); !allowed) {
                return std::move(allowed).error();
            }
            std::vector<T> elements(static_cast<std::size_t>(part->end - part->begin));
            const span<std::byte> bytes = detail::as_writable_bytes(span<T>(elements));
            if (result<void> read = file_->source->read_at(record_->offset + part->begin * sizeof(T), bytes); !read) {
                return std::move(read).error();
            }
            detail::to_host_order(*record_, request, bytes);
            return elements;
        }
    }

    template <class To>
    [[nodiscard]] result<std::vector<To>> convert_elements() const {
        if (!record_->dtype) {
            return detail::unknown_dtype(*file_, *record_);
        }
        const detail::element_request stored = {*record_->dtype, {}, width_bytes(*record_->dtype)};
        if (result<void> valid = detail::check_element_type(*file_, *record_, stored); !valid) {
            return std::move(valid).error();
        }
        if (has_unknown_type()) {
            return error(errc::unsupported_type, "numbers of the logical type " + detail::quote(type()) +
                                                     " are unknown to this library");
        }
        result<std::vector<std::byte>> decoded = detail::decode(*file_, *record_);
        if (!decoded) {
            return std::move(decoded).error();
        }
        detail::to_host_order(*record_, stored, *decoded);
        if (record_->dtype == ztensor::dtype::boolean) {
            if (result<void> valid = detail::normalise_bools(*record_, *decoded); !valid) {
                return std::move(valid).error();
            }
        }
        std::vector<To> converted(decoded->size() / width_bytes(*record_->dtype));
        const std::string_view type = record_->logical_type == detail::plain_type ? std::string_view() : this->type();
        result<void> done = detail::convert_elements<To>(*decoded, *record_->dtype, type, converted);
        return done ? result<std::vector<To>>(std::move(converted)) : std::move(done).error();
    }

    const detail::opened_file* file_;
    const detail::object_record* object_;
    const detail::component_record* record_;
};

namespace detail {

/// For the rooms that must know whose component it is.
struct component_access {
    [[nodiscard]] static const opened_file* file_of(const component_view& component) noexcept {
        return component.file_;
    }
};

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
