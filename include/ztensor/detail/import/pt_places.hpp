// SPDX-License-Identifier: MIT
//
// PyTorch: where the elements of a tensor lie, strided or not.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_PLACES_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_PLACES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/foreign_index.hpp>
#include <ztensor/detail/import/pickle_numpy.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt_entries.hpp>
#include <ztensor/detail/import/zip_content.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- other signs
//
// Floats with other signs than they are stored with: conjugated and negated views.

struct sign_rule {
    std::size_t number_bytes = 0;
    bool is_big_endian = false;
    bool changes_first = false;  ///< of each pair of numbers
    bool changes_second = false; ///< likewise
};

class other_signs final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie as many bytes as are made.
    other_signs(const assembled_source& source, std::uint64_t offset, sign_rule rule)
        : source_(source), offset_(offset), rule_(rule) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        ZTENSOR_TRY(source_.read_at(offset_, destination));
        const std::size_t highest = rule_.is_big_endian ? 0 : rule_.number_bytes - 1;
        bool is_first = true;
        for (std::size_t at = 0; at < destination.size(); at += rule_.number_bytes) {
            if (is_first ? rule_.changes_first : rule_.changes_second) {
                destination[at + highest] ^= std::byte{0x80};
            }
            is_first = !is_first;
        }
        return {};
    }

private:
    const assembled_source& source_;
    std::uint64_t offset_;
    sign_rule rule_;
};

// -- strided
//
// Elements that lie in a storage at strides: whether they are in row-major order without gaps, else gathered when they
// are read.

/// Sizes and strides in elements, outermost first, as many of one as of the other.
struct strided_shape {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> strides;

    [[nodiscard]] bool is_empty() const noexcept {
        for (const std::uint64_t size : sizes) {
            if (size == 0) {
                return true;
            }
        }
        return false;
    }

    /// Nothing if 64 bits can't count them.
    [[nodiscard]] std::optional<std::uint64_t> count() const noexcept {
        std::optional<std::uint64_t> elements = is_empty() ? 0 : 1;
        for (std::size_t i = 0; elements && i < sizes.size(); ++i) {
            elements = checked_multiply(*elements, sizes[i]);
        }
        return elements;
    }

    /// Elements of storage from the first that is used to the last. Nothing if 64 bits can't count them.
    [[nodiscard]] std::optional<std::uint64_t> reach() const noexcept {
        if (is_empty()) {
            return 0;
        }
        std::optional<std::uint64_t> last = 0;
        for (std::size_t i = 0; last && i < sizes.size(); ++i) {
            const std::optional<std::uint64_t> way = checked_multiply(sizes[i] - 1, strides[i]);
            last = way ? checked_add(*last, *way) : std::nullopt;
        }
        return last ? checked_add(*last, 1) : std::nullopt;
    }

    /// In row-major order without gaps. Checked before: they can be counted.
    [[nodiscard]] bool is_contiguous() const noexcept {
        std::uint64_t expected = 1;
        for (std::size_t i = sizes.size(); i-- != 0;) {
            if (sizes[i] > 1 && strides[i] != expected) {
                return is_empty();
            }
            expected *= sizes[i] != 0 ? sizes[i] : 1;
        }
        return true;
    }
};

class gathered_elements final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie shape.reach() elements, of which none is missing; there is at
    /// least one, and their number fits 64 bits. No more than `max_bytes` are held at once, `destination` included.
    gathered_elements(const assembled_source& source, std::uint64_t offset, strided_shape shape,
                      std::size_t element_bytes, std::uint64_t max_bytes)
        : source_(source), offset_(offset), shape_(std::move(shape)), element_bytes_(element_bytes),
          max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        const std::uint64_t reach = *shape_.reach() * element_bytes_;
        if (destination.size() > max_bytes_) {
            return too_much(destination.size());
        }
        ZTENSOR_TRY_ASSIGN(const std::optional<assembled_source::lent_bytes> lent,
                           source_.lend(offset_, reach, max_bytes_ - destination.size()));
        if (lent) {
            return gather_from(lent->bytes, destination);
        }
        // Elements that lie close together are read at once, others in windows: the work is that of what is made.
        constexpr std::uint64_t most_gaps = 16;
        if (reach / most_gaps > destination.size()) {
            return gather_by_windows(destination);
        }
        byte_buffer storage;
        if (reach > max_bytes_ - destination.size()) {
            return too_much(reach);
        }
        if (!fits_address_space(reach) || !storage.allocate(static_cast<std::size_t>(reach))) {
            return fail(errc::out_of_memory, "no memory for {} bytes of storage", {reach});
        }
        ZTENSOR_TRY(source_.read_at(offset_, storage.writable_bytes()));
        return gather_from(storage.bytes(), destination);
    }

private:
    [[nodiscard]] error too_much(std::uint64_t bytes) const {
        return fail(errc::limit_exceeded,
                    "the elements lie in {} bytes of storage, more than read_options::max_decoded_bytes, {}, leaves",
                    {bytes, max_bytes_});
    }

    [[nodiscard]] result<void> gather_from(bytes_view storage, span<std::byte> destination) const {
        const std::byte* const begin = storage.data();
        static_cast<void>(
            gather(destination, [begin](std::uint64_t at) { return begin + static_cast<std::size_t>(at); }));
        return {};
    }

    [[nodiscard]] result<void> gather_by_windows(span<std::byte> destination) const {
        const std::uint64_t reach = *shape_.reach() * element_bytes_;
        std::array<std::byte, 4096> window;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        result<void> read;
        const auto find = [&](std::uint64_t at) -> const std::byte* {
            if (at < begin || at + element_bytes_ > end) {
                begin = at;
                end = at + (std::min<std::uint64_t>)(window.size(), reach - at);
                read = source_.read_at(offset_ + begin, {window.data(), static_cast<std::size_t>(end - begin)});
            }
            return read ? window.data() + static_cast<std::size_t>(at - begin) : nullptr;
        };
        return gather(destination, find) ? result<void>() : std::move(read);
    }

    template <class Find>
    [[nodiscard]] bool gather(span<std::byte> destination, const Find& find) const {
        switch (element_bytes_) {
        case 1:
            return gather<1>(destination, find);
        case 2:
            return gather<2>(destination, find);
        case 4:
            return gather<4>(destination, find);
        case 8:
            return gather<8>(destination, find);
        default:
            return gather<16>(destination, find);
        }
    }

    /// Row after row of the last dimension; `index` counts through the others. `find` gives the element that lies at a
    /// byte of the storage; false if it gives none.
    template <std::size_t Width, class Find>
    [[nodiscard]] bool gather(span<std::byte> destination, const Find& find) const {
        const std::size_t others = shape_.sizes.size() - 1; // a scalar is contiguous, so there is a last one
        const auto row_elements = static_cast<std::size_t>(shape_.sizes[others]);
        const std::uint64_t step = shape_.strides[others] * Width;
        std::vector<std::uint64_t> index(others);
        std::byte* to = destination.data();
        std::byte* const end = to + destination.size();
        std::uint64_t row = 0; // where it starts in the storage
        while (to != end) {
            for (std::size_t i = 0; i < row_elements; ++i, to += Width) {
                const std::byte* const from = find(row + i * step);
                if (from == nullptr) {
                    return false;
                }
                std::memcpy(to, from, Width);
            }
            for (std::size_t i = others; i-- != 0;) {
                const std::uint64_t stride = shape_.strides[i] * Width;
                if (++index[i] != shape_.sizes[i]) {
                    row += stride;
                    break;
                }
                row -= stride * (index[i] - 1);
                index[i] = 0;
            }
        }
        return true;
    }

    const assembled_source& source_;
    std::uint64_t offset_;
    strided_shape shape_;
    std::size_t element_bytes_;
    std::uint64_t max_bytes_;
};

// -- pt places
//
// Where the elements of a checkpoint's tensors lie: in their storages as they are, or gathered from there, or with
// other signs. Knows no names.

/// A component, and the memory for its digest.
struct placed_tensor {
    foreign_component data;
    std::string digest;
    std::vector<std::uint64_t> sizes;
};

class pt_places {
public:
    /// All that is given outlives this.
    pt_places(assembled_source& all, const pickled& content, storage_finder& storages, bool is_big_endian)
        : all_(all), content_(content), storages_(storages), is_big_endian_(is_big_endian) {}

    /// Where a dense tensor's elements lie. Errors: shape_overflow, out_of_bounds; those of the storages.
    [[nodiscard]] result<void> place(std::uint32_t number, placed_tensor& placed) {
        const pickle_tensor& tensor = content_.tensors[number];
        const pickle_storage& of = content_.storages[tensor.storage];
        ZTENSOR_TRY_ASSIGN(placed_storage storage, storages_.find(of, content_.text_of(of.key)));
        strided_shape shape = shape_of(tensor);
        const pickle_global& element = pickle_globals[tensor.element];
        const std::uint64_t width = element.element_bytes;
        const std::optional<std::uint64_t> count = shape.count();
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, width) : std::nullopt;
        if (!bytes) {
            return fail(errc::shape_overflow, "the tensor has more elements or bytes than 64 bits can count");
        }
        const std::optional<std::uint64_t> reach = shape.reach();
        const std::uint64_t offset = size_of(content_, content_.argument_of(tensor, 1));
        const std::uint64_t first = reach == std::uint64_t{0} ? 0 : offset; // nothing lies anywhere
        const shown_bytes shown = shown_of(content_, of);
        if (!reach || !fits(first, *reach, shown.size / width)) {
            return fail(errc::out_of_bounds, "the tensor reaches beyond its storage of {} elements",
                        {shown.size / width});
        }
        foreign_component& data = placed.data;
        data = component_of(element);
        data.offset = storage.offset + shown.begin + first * width;
        data.length = *bytes;
        placed.sizes = shape.sizes;
        if (!shape.is_contiguous() || needs_other_signs(tensor.form, *bytes)) {
            ZTENSOR_TRY_ASSIGN(const std::uint64_t gathered,
                               add_gathered(number, data.offset, std::move(shape), *bytes));
            data.offset = gathered;
        } else if (*bytes == storage.bytes && !storage.digest.empty()) { // the checksum is that of all of its bytes
            placed.digest = std::move(storage.digest);
            data.digest = placed.digest;
        }
        return {};
    }

    /// A storage that stands alone. Errors: those of the storages.
    [[nodiscard]] result<void> place_storage(const pickle_storage& of, placed_tensor& placed) {
        ZTENSOR_TRY_ASSIGN(const placed_storage storage, storages_.find(of, content_.text_of(of.key)));
        const pickle_global& element = pickle_globals[of.element];
        const shown_bytes shown = shown_of(content_, of);
        placed.data = component_of(element);
        placed.data.offset = storage.offset + shown.begin;
        placed.data.length = shown.size;
        placed.sizes = {shown.size / element.element_bytes};
        return {};
    }

    /// An array of NumPy, which lies in the pickle. Errors: size_mismatch; what the container says.
    [[nodiscard]] result<void> place_array(const pickled_array& array, placed_tensor& placed) {
        const npy_type& type = *array.element.type;
        strided_shape shape;
        const std::size_t rank = array.shape.kind == pickle_kind::tuple ? content_.count_of(array.shape) : 0;
        for (std::size_t i = 0; i < rank; ++i) {
            shape.sizes.push_back(size_of(content_, content_.item_of(array.shape, i)));
        }
        const std::optional<std::uint64_t> count = shape.count();
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, type.element_bytes) : std::nullopt;
        const bytes_view data = content_.bytes_of(array.data);
        if (!bytes || *bytes != data.size()) {
            return fail(errc::size_mismatch, "an array of NumPy has {} bytes, other than its shape says",
                        {data.size()});
        }
        result<std::uint64_t> at = place_bytes(array.data);
        if (at && array.is_fortran) {
            shape.strides = strides_of_fortran(shape.sizes);
            at = shape.is_contiguous() ? at : gather(*at, shape, type.element_bytes, *bytes);
        }
        if (!at) {
            return std::move(at).error();
        }
        foreign_component& component = placed.data;
        component.dtype = type.dtype;
        component.type = type.type;
        component.offset = *at;
        component.length = *bytes;
        component.is_big_endian = array.element.is_big_endian;
        placed.sizes = std::move(shape.sizes);
        return {};
    }

    /// Once all are placed: takes along what does not stand in the pickle as it is.
    void keep(std::vector<std::byte> decoded) noexcept {
        if (decoded_ != nullptr) {
            decoded_->keep(std::move(decoded));
        }
    }

private:
    [[nodiscard]] strided_shape shape_of(const pickle_tensor& tensor) const {
        strided_shape shape;
        const pickle_value& sizes = content_.argument_of(tensor, 2);
        const pickle_value& strides = content_.argument_of(tensor, 3);
        for (std::size_t i = 0; i < content_.count_of(sizes); ++i) {
            shape.sizes.push_back(size_of(content_, content_.item_of(sizes, i)));
            shape.strides.push_back(size_of(content_, content_.item_of(strides, i)));
        }
        return shape;
    }

    [[nodiscard]] foreign_component component_of(const pickle_global& element) const noexcept {
        foreign_component data;
        data.dtype = element.dtype;
        data.type = element.type;
        data.is_big_endian = is_big_endian_ && data.dtype != "u8" && data.dtype != "i8" && data.dtype != "bool";
        return data;
    }
    [[nodiscard]] static bool needs_other_signs(pickle_form form, std::uint64_t bytes) noexcept {
        const bool has_others = form == pickle_form::conjugated || form == pickle_form::negated ||
                                form == pickle_form::conjugated_and_negated;
        return has_others && bytes != 0;
    }
    [[nodiscard]] static std::vector<std::uint64_t> strides_of_fortran(const std::vector<std::uint64_t>& sizes) {
        std::vector<std::uint64_t> strides;
        std::uint64_t next = 1;
        for (const std::uint64_t size : sizes) {
            strides.push_back(next);
            next *= size; // checked before: all together can be counted, or there are none
        }
        return strides;
    }
    /// Where the bytes of a value lie in all_.
    [[nodiscard]] result<std::uint64_t> place_bytes(const pickle_value& value) {
        std::optional<std::uint64_t>& begin = value.is_decoded ? decoded_at_ : pickle_at_;
        if (!begin) {
            const result<std::uint64_t> placed = value.is_decoded ? place_decoded() : storages_.place_pickle();
            if (!placed) {
                return placed;
            }
            begin = *placed;
        }
        return *begin + value.place + value.width;
    }
    [[nodiscard]] result<std::uint64_t> place_decoded() {
        decoded_ = std::make_shared<decoded_bytes>(content_.decoded.size());
        return all_.add(decoded_, 0, decoded_->size());
    }
    [[nodiscard]] result<std::uint64_t> gather(std::uint64_t offset, strided_shape shape, std::uint64_t element_bytes,
                                               std::uint64_t bytes) {
        return all_.add(std::make_unique<gathered_elements>(all_, offset, std::move(shape),
                                                            static_cast<std::size_t>(element_bytes),
                                                            all_.max_made_bytes()),
                        bytes);
    }

    /// A tensor that stands in several places is gathered to one.
    [[nodiscard]] result<std::uint64_t> add_gathered(std::uint32_t number, std::uint64_t offset, strided_shape shape,
                                                     std::uint64_t bytes) {
        if (gathered_.empty()) {
            gathered_.resize(content_.tensors.size());
        }
        if (gathered_[number]) {
            return *gathered_[number];
        }
        const pickle_tensor& tensor = content_.tensors[number];
        const pickle_global& element = pickle_globals[tensor.element];
        result<std::uint64_t> at = offset;
        if (!shape.is_contiguous()) {
            at = gather(offset, std::move(shape), element.element_bytes, bytes);
        }
        if (at && needs_other_signs(tensor.form, bytes)) {
            at = all_.add(std::make_unique<other_signs>(all_, *at, sign_rule_of(tensor.form, element)), bytes);
        }
        if (at) {
            gathered_[number] = *at;
        }
        return at;
    }
    [[nodiscard]] sign_rule sign_rule_of(pickle_form form, const pickle_global& element) const noexcept {
        sign_rule rule;
        const bool is_complex = !element.type.empty();
        rule.number_bytes = is_complex ? element.element_bytes / std::size_t{2} : element.element_bytes;
        rule.is_big_endian = is_big_endian_;
        rule.changes_first = form != pickle_form::conjugated;
        rule.changes_second = is_complex ? form != pickle_form::conjugated_and_negated : rule.changes_first;
        return rule;
    }

    assembled_source& all_;
    const pickled& content_;
    storage_finder& storages_;
    bool is_big_endian_;
    std::vector<std::optional<std::uint64_t>> gathered_; ///< where, of each tensor
    std::shared_ptr<decoded_bytes> decoded_;
    std::optional<std::uint64_t> decoded_at_, pickle_at_; ///< in all_, once an array needed them
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
