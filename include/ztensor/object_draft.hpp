// SPDX-License-Identifier: MIT
//
// What the caller wants written: an object of any format with any components, and how each is to be stored. Borrows
// elements that stay. SPEC.md section 3.3, section 6, section 7.
#ifndef ZTENSOR_OBJECT_DRAFT_HPP
#define ZTENSOR_OBJECT_DRAFT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

struct blob_content;
struct dense_tensor;
struct draft_access;
class writer_core;
using add_tensor = result<void> (*)(writer_core& to, const dense_tensor& tensor, const blob_content& elements);

/// Errors: as writer::add().
result<void> add_in_planes(writer_core& to, const dense_tensor& tensor, const blob_content& elements);

} // namespace detail

/// How one tensor or component is to be stored.
struct store {
    /// Compressed, at a level of 1 (fast, and as small as any for dense weights) to 22; 0 is zstd's own default, and
    /// negative ones, down to libzstd's own least, are faster and leave dense weights as large as they were. What
    /// takes more than 1 MiB becomes independent frames of 1 MiB each, which several threads can read and write.
    store& zstd(int level = 1) noexcept { return zstd_if_smaller(level, 0); }
    /// The same where that pays: the first MiB, at most, is compressed on trial, and where that takes more than
    /// `most_of_raw` of its size, all of it is stored raw. Dense weights of 16 or 32 bits take about 0.78 to 0.93,
    /// and to read them compressed is about ten times as slow.
    store& zstd_if_smaller(int level = 1, double most_of_raw = 0.95) noexcept {
        encoding_ = ztensor::encoding::zstd;
        zstd_level_ = level;
        most_of_raw_ = most_of_raw;
        in_planes_ = nullptr;
        holds_exponents_ = false;
        return *this;
    }
    /// Weights without loss in two thirds of their size (SPEC.md section 14): of a dense tensor of bf16, f16 or f32 the
    /// exponents, compressed, apart from the fractions, which are noise and stay raw. bf16 takes about 0.67 of its
    /// size, f32 and f16 0.84, and they are read two to three times as fast as what zstd() stores. This library reads
    /// it as dense; every other reader of 1.1, 1.2 and 2 sees an object of two components of bytes, which it can copy
    /// and verify. What zstd() stores in less is stored so, as far as a look at what takes more than 4 MiB tells. All
    /// other types, and what takes less than 64 KiB, are stored as zstd_if_smaller(1, 1) does it. Attributes named
    /// "planes.dtype" and "planes.exponent_bits" are added. 0.1 has no place for it: not_expressible. A component of
    /// any other object is stored as zstd() would store it.
    store& planes() noexcept { return planes_if_smaller(0); }
    /// The same where that pays: what would take more than `most_of_raw` of its size, as far as some pieces tell, is
    /// stored raw.
    store& planes_if_smaller(double most_of_raw = 0.95) noexcept {
        zstd_if_smaller(1, most_of_raw);
        in_planes_ = detail::add_in_planes;
        return *this;
    }
    /// With a digest of the stored bytes: crc32c or sha256. In version 2 of the decoded ones: sha256 instead of the
    /// xxh3 that every component has there.
    store& digest(ztensor::digest algorithm) noexcept { return digest_ = algorithm, *this; }
    /// With this logical type instead of the element type's own.
    store& type(std::string_view name) { return type_ = name, has_type_ = !name.empty(), *this; }
    /// Most significant byte first: raw data of version 0.1 only.
    store& big_endian(bool value = true) noexcept { return is_big_endian_ = value, *this; }

    // What was chosen.

    [[nodiscard]] ztensor::encoding encoding() const noexcept { return encoding_; }
    [[nodiscard]] int zstd_level() const noexcept { return zstd_level_; }
    [[nodiscard]] double most_of_raw() const noexcept { return most_of_raw_; }
    [[nodiscard]] bool is_in_planes() const noexcept { return in_planes_ != nullptr; }
    [[nodiscard]] ztensor::digest digest() const noexcept { return digest_; }
    [[nodiscard]] const std::string& type() const noexcept { return type_; }
    [[nodiscard]] bool has_type() const noexcept { return has_type_; }
    [[nodiscard]] bool is_big_endian() const noexcept { return is_big_endian_; }

private:
    friend struct detail::draft_access;

    ztensor::encoding encoding_ = ztensor::encoding::raw;
    int zstd_level_ = 0;
    double most_of_raw_ = 0; ///< 0: compressed in any case
    ztensor::digest digest_ = ztensor::digest::none;
    std::string type_;
    bool has_type_ = false;
    bool is_big_endian_ = false;
    // Set by the call that asks for it, so that programs without it hold no code for it.
    detail::add_tensor in_planes_ = nullptr;
    bool holds_exponents_ = false; ///< of a component that the library makes
};

namespace detail {

/// One component to be written.
struct component_source {
    std::string role;
    dtype storage = dtype::u8;
    std::optional<std::string> type;   ///< logical type
    bytes_view bytes;                  ///< decoded
    std::shared_ptr<const void> owner; ///< of the bytes, where they were given as a temporary
    std::size_t swap_width = 1;        ///< of elements in the host's byte order; 1: bytes as the file will hold them
    std::size_t plane_width = 0;       ///< of elements of which one plane is stored; 0: the bytes themselves
    bool is_fraction = false;          ///< which plane
    ztensor::store how;
    std::optional<stored_component> stored; ///< to be copied as it is; then `bytes` and `how` say nothing

    [[nodiscard]] std::uint64_t decoded_bytes() const noexcept {
        return plane_width == 0 ? bytes.size() : bytes.size() / plane_width * (is_fraction ? plane_width - 1 : 1);
    }
};

struct object_entry;
using check_of_attributes = result<void> (*)(format_version version, const object_entry& object);

/// Errors: name_invalid, cbor_utf8, not_expressible.
result<void> check_object_attributes(format_version version, const object_entry& object);

} // namespace detail

/// The attributes that a call gives an object besides its elements: none, or those of a variable or temporary, which
/// are borrowed for the length of the call.
class object_attributes {
public:
    object_attributes() noexcept = default;
    object_attributes(const attributes& values) noexcept : values_(&values), check_(detail::check_object_attributes) {}

    /// Null for none, which differs from an empty map.
    [[nodiscard]] const attributes* get() const noexcept { return values_; }
    /// Others in their place, or with null none.
    [[nodiscard]] object_attributes with(const attributes* values) const noexcept {
        object_attributes others = *this;
        others.values_ = values;
        return others;
    }

private:
    friend struct detail::draft_access;

    const attributes* values_ = nullptr;
    // What a writer of 0.1 to 1.2 checks them by. Set by the call that has attributes, so that programs without them
    // hold no code for it.
    detail::check_of_attributes check_ = [](format_version, const detail::object_entry&) { return result<void>(); };
};

/// An object to be written: writer::add_object takes it. The elements given to it must live until then, unless they
/// are those of a temporary container, which the draft keeps; everything else is copied. Nothing is checked here: the
/// writer checks all of it before it writes a byte.
class object_draft {
public:
    object_draft(std::string_view format, const ztensor::shape& dimensions) : format_(format), shape_(dimensions) {}
    object_draft(ztensor::format format, const ztensor::shape& dimensions) : object_draft(name(format), dimensions) {}

    object_draft(const object_draft&) = default;
    object_draft& operator=(const object_draft&) = default;
    /// A draft that was moved from has no format, no dimensions, no attributes and no components.
    object_draft(object_draft&& other) noexcept
        : format_(std::exchange(other.format_, {})), shape_(std::move(other.shape_)),
          attributes_(std::exchange(other.attributes_, std::nullopt)),
          components_(std::exchange(other.components_, {})), keeps_word_(std::exchange(other.keeps_word_, false)) {}
    object_draft& operator=(object_draft&& other) noexcept {
        object_draft taken(std::move(other));
        std::swap(format_, taken.format_);
        std::swap(shape_, taken.shape_);
        std::swap(attributes_, taken.attributes_);
        std::swap(components_, taken.components_);
        std::swap(keeps_word_, taken.keeps_word_);
        return *this;
    }
    ~object_draft() = default;

    /// A component of elements in memory: a span, vector or array of any type that element_traits describes. The
    /// logical type is the element type's own, unless `how` names one.
    template <class Elements>
    object_draft& component(std::string_view role, Elements&& elements, const store& how = {}) {
        detail::kept_elements kept = detail::keep_elements(std::forward<Elements>(elements));
        add_elements(role, kept.elements, how);
        components_.back().owner = std::move(kept.owner);
        return *this;
    }

    /// A component of bytes that are already as the file will hold them, decoded: little-endian, unless `how` says
    /// otherwise.
    object_draft& component_bytes(std::string_view role, dtype storage, bytes_view bytes, const store& how = {});
    template <class Bytes, std::enable_if_t<detail::is_dying_owner_v<Bytes&&>, int> = 0>
    object_draft& component_bytes(std::string_view role, dtype storage, Bytes&& bytes, const store& how = {}) {
        const auto owner = std::make_shared<const detail::bare_t<Bytes>>(std::forward<Bytes>(bytes));
        component_bytes(role, storage, bytes_view(*owner), how);
        components_.back().owner = owner;
        return *this;
    }

    /// A component of an open file, copied as it is stored: compression, digest and types stay what they are. Its bytes
    /// must match its digest, unless the reader is to check none (read_options::verify_digests). The reader must live
    /// until the object is written. `decoded_bytes` is needed only where only decoding tells it.
    object_draft& component_stored(std::string_view role, const component_view& stored,
                                   std::optional<std::uint64_t> decoded_bytes = std::nullopt) {
        return add_stored(role, detail::describe_stored(stored), decoded_bytes);
    }

    /// Attributes of the object; an empty set is written as an empty map.
    object_draft& attributes(ztensor::attributes values) {
        attributes_ = std::move(values);
        return *this;
    }

    [[nodiscard]] const std::string& format() const& noexcept { return format_; }
    [[nodiscard]] const ztensor::shape& shape() const& noexcept { return shape_; }
    [[nodiscard]] const std::optional<ztensor::attributes>& attributes() const& noexcept { return attributes_; }
    const std::string& format() const&& = delete; // these borrow from a draft that is about to die
    const ztensor::shape& shape() const&& = delete;
    const std::optional<ztensor::attributes>& attributes() const&& = delete;

private:
    friend struct detail::draft_access;

    object_draft& add_elements(std::string_view role, const detail::typed_bytes& elements, const store& how);
    object_draft& add_stored(std::string_view role, detail::stored_component stored,
                             std::optional<std::uint64_t> decoded_bytes);

    std::string format_;
    ztensor::shape shape_;
    std::optional<ztensor::attributes> attributes_;
    std::vector<detail::component_source> components_; ///< in the order in which the blobs will be written
    bool keeps_word_ = false;                          ///< the format's: see object_entry
};

namespace detail {

/// For the rooms that make drafts of what has lost its type, or has no meaning.
struct draft_access {
    static void add(object_draft& draft, std::string_view role, const typed_bytes& elements, const store& how) {
        draft.add_elements(role, elements, how);
    }
    [[nodiscard]] static const std::vector<component_source>& components(const object_draft& draft) noexcept {
        return draft.components_;
    }
    [[nodiscard]] static component_source& last(object_draft& draft) noexcept { return draft.components_.back(); }
    /// Of a component of no letters, too.
    static void set_type(store& how, string_view type, bool has_type) {
        how.type_ = type;
        how.has_type_ = has_type;
    }
    [[nodiscard]] static add_tensor way_into_planes(const store& how) noexcept { return how.in_planes_; }
    /// Compressed as exponents are.
    static void set_exponents(store& how) noexcept {
        how.zstd(1);
        how.holds_exponents_ = true;
    }
    [[nodiscard]] static bool holds_exponents(const store& how) noexcept { return how.holds_exponents_; }
    [[nodiscard]] static check_of_attributes check_of(const object_attributes& about) noexcept { return about.check_; }
    static void keep_word(object_draft& draft) noexcept { draft.keeps_word_ = true; }
    [[nodiscard]] static bool keeps_word(const object_draft& draft) noexcept { return draft.keeps_word_; }
};

} // namespace detail

ZTENSOR_COLD inline object_draft& object_draft::component_bytes(std::string_view role, dtype storage, bytes_view bytes,
                                                                const store& how) {
    detail::component_source& added = components_.emplace_back();
    added.role = role;
    added.storage = storage;
    if (how.has_type()) {
        added.type = how.type();
    }
    added.bytes = bytes;
    added.how = how;
    return *this;
}

ZTENSOR_COLD inline object_draft& object_draft::add_elements(std::string_view role, const detail::typed_bytes& elements,
                                                             const store& how) {
    const store typed = how.has_type() ? how : store(how).type(elements.type);
    component_bytes(role, elements.storage, elements.bytes, typed);
    components_.back().swap_width = width_bytes(elements.storage);
    return *this;
}

ZTENSOR_COLD inline object_draft& object_draft::add_stored(std::string_view role, detail::stored_component stored,
                                                           std::optional<std::uint64_t> decoded_bytes) {
    if (decoded_bytes) {
        stored.decoded_bytes = decoded_bytes;
    }
    detail::component_source& added = components_.emplace_back();
    added.role = role;
    added.stored = stored;
    return *this;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
