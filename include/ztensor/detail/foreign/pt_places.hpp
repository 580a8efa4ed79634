// SPDX-License-Identifier: MIT
//
// Where the elements of a checkpoint's tensors lie: in their storages as they are, or gathered from there, or with
// other signs. Knows no names.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_PLACES_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_PLACES_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/decoded_bytes.hpp>
#include <ztensor/detail/foreign/foreign_index.hpp>
#include <ztensor/detail/foreign/other_signs.hpp>
#include <ztensor/detail/foreign/pickle_numpy.hpp>
#include <ztensor/detail/foreign/pickle_rebuild.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/detail/foreign/pt_storages.hpp>
#include <ztensor/detail/foreign/strided.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
