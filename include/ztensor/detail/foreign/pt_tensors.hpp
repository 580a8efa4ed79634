// SPDX-License-Identifier: MIT
//
// Tensors of a PyTorch checkpoint as objects: dense ones viewed or gathered, sparse and quantized ones in their parts,
// and what is none of them as attributes or as skipped. Knows no container: a storage_finder finds storages in it.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_TENSORS_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_TENSORS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/foreign/decoded_bytes.hpp>
#include <ztensor/detail/foreign/foreign_index.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/name_hashes.hpp>
#include <ztensor/detail/foreign/other_signs.hpp>
#include <ztensor/detail/foreign/pickle_rebuild.hpp>
#include <ztensor/detail/foreign/pt_content.hpp>
#include <ztensor/detail/foreign/strided.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where the bytes of a storage lie.
struct placed_storage {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string digest; ///< of all of them; "" for none
};

class storage_finder {
public:
    virtual ~storage_finder() = default;
    /// `key` is the storage's. Errors: schema_missing, size_mismatch; what the container says.
    [[nodiscard]] virtual result<placed_storage> find(const pickle_storage& storage, std::string_view key) = 0;
    /// Where the pickle itself lies. Errors: what the container says.
    [[nodiscard]] virtual result<std::uint64_t> place_pickle() = 0;
};

class pt_tensors final : public pt_visitor {
public:
    pt_tensors(const foreign_file& file, assembled_source& all, pickled content, storage_finder& storages,
               bool is_big_endian)
        : file_(file), all_(all), content_(std::move(content)), storages_(storages), is_big_endian_(is_big_endian) {}

    /// All of the checkpoint. `stem` names what stands alone.
    [[nodiscard]] result<imported> import(const std::string& stem) {
        if (result<void> walked = pt_walk(content_).run(stem, *this); !walked) {
            return std::move(walked).error();
        }
        if (!first_skipped_.empty() && objects_ == 0) {
            return fail(errc::pickle_refused, "no tensor of the checkpoint can be read: {}", {first_skipped_});
        }
        if (objects_ == 0 && !attributes_.empty()) {
            index_.skip("", "", "the checkpoint holds numbers and texts, but no tensor");
        }
        if (decoded_ != nullptr) {
            decoded_->keep(std::move(content_.decoded));
        }
        content_ = pickled(); // the index takes their memory
        attributes_ = name_hashes();
        if (more_skipped_ != 0) {
            index_.skip("", "", sentence("{} more values are skipped, too many to be listed", {more_skipped_}));
        }
        result<byte_buffer> index = index_.finish(file_.options.max_manifest_bytes_);
        if (!index) {
            return std::move(index).error();
        }
        imported made;
        made.kind = container_kind::pt;
        made.index = *std::move(index);
        made.skipped = index_.take_skipped();
        made.blobs_may_overlap = true;
        return made;
    }

    [[nodiscard]] result<void> tensor(const std::string& name, const pickle_value& value) override {
        if (value.kind == pickle_kind::storage) {
            return add_storage(name, content_.storages[value.place]);
        }
        if (value.kind == pickle_kind::object) {
            return add_array(name, read_numpy_array(content_, value));
        }
        const pickle_tensor& tensor = content_.tensors[value.place];
        switch (tensor.form) {
        case pickle_form::meta:
            return skip(name, "it is on the device meta, which has no elements");
        case pickle_form::sparse:
            return add_sparse(name, tensor);
        case pickle_form::quantized:
            return add_quantized(name, value.place);
        default:
            return add_dense(name, value.place, nullptr);
        }
    }
    [[nodiscard]] result<void> attribute(const std::string& name, const pickle_value& value) override {
        if (!attributes_.insert(name)) {
            return skip(name, "another value has the same name");
        }
        result<void> encoded = encode_pickled(content_, value, index_.attribute(name));
        return encoded ? check_index_size() : encoded;
    }
    [[nodiscard]] result<void> skip(const std::string& name, std::string why) override {
        constexpr std::size_t cost = 128; // of an item besides its texts
        if (first_skipped_.empty()) {
            first_skipped_ = sentence("{}: {}", {in_quotes(name), why});
        }
        const std::size_t size = name.size() + why.size() + cost;
        if (skipped_bytes_ + size > content_.source.size() + least_skipped_bytes) {
            ++more_skipped_;
            return {};
        }
        skipped_bytes_ += size;
        index_.skip(std::string_view(name).substr(0, max_name_bytes), "", std::move(why));
        return {};
    }

private:
    /// The list of what is skipped takes no more memory than the pickle and this, since one value may stand in it in
    /// very many places.
    static constexpr std::size_t least_skipped_bytes = std::size_t{256} << 10;

    /// Values may stand in many places, each under a name of its own.
    [[nodiscard]] result<void> check_index_size() const {
        return index_.bytes() <= file_.options.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the checkpoint takes more than the {} bytes allowed",
                          {file_.options.max_manifest_bytes_});
    }

    void add(const std::string& name, span<const std::uint64_t> dimensions, std::string_view format,
             span<const foreign_component> components, const attributes* of_object = nullptr) {
        ++objects_;
        index_.add(name, dimensions, format, components, of_object);
    }

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

    /// A component and the memory for its digest.
    struct placed_tensor {
        foreign_component data;
        std::string digest;
        std::vector<std::uint64_t> sizes;
    };

    /// Where a dense tensor's elements lie. Errors: shape_overflow, out_of_bounds; those of the storages.
    [[nodiscard]] result<void> place(std::uint32_t number, placed_tensor& placed) {
        const pickle_tensor& tensor = content_.tensors[number];
        const pickle_storage& of = content_.storages[tensor.storage];
        result<placed_storage> storage = storages_.find(of, content_.text_of(of.key));
        if (!storage) {
            return std::move(storage).error();
        }
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
        data.dtype = element.dtype;
        data.type = element.type;
        data.offset = storage->offset + shown.begin + first * width;
        data.length = *bytes;
        data.is_big_endian = is_big_endian_ && data.dtype != "u8" && data.dtype != "i8" && data.dtype != "bool";
        placed.sizes = shape.sizes;
        if (!shape.is_contiguous() || needs_other_signs(tensor.form, *bytes)) {
            const result<std::uint64_t> gathered = add_gathered(number, data.offset, std::move(shape), *bytes);
            if (!gathered) {
                return gathered.error();
            }
            data.offset = *gathered;
        } else if (*bytes == storage->bytes && !storage->digest.empty()) { // the checksum is that of all of its bytes
            placed.digest = std::move(storage->digest);
            data.digest = placed.digest;
        }
        return {};
    }
    [[nodiscard]] static bool needs_other_signs(pickle_form form, std::uint64_t bytes) noexcept {
        const bool has_others = form == pickle_form::conjugated || form == pickle_form::negated ||
                                form == pickle_form::conjugated_and_negated;
        return has_others && bytes != 0;
    }

    [[nodiscard]] result<void> add_dense(const std::string& name, std::uint32_t number, const attributes* of_object) {
        placed_tensor placed;
        if (result<void> found = place(number, placed); !found) {
            return found;
        }
        add(name, placed.sizes, "dense", {&placed.data, 1}, of_object);
        return check_index_size();
    }

    [[nodiscard]] result<void> add_storage(const std::string& name, const pickle_storage& of) {
        if (of.is_meta) {
            return skip(name, "it is a storage on the device meta, which has no elements");
        }
        const result<placed_storage> storage = storages_.find(of, content_.text_of(of.key));
        if (!storage) {
            return storage.error();
        }
        const pickle_global& element = pickle_globals[of.element];
        foreign_component data;
        data.dtype = element.dtype;
        data.type = element.type;
        const shown_bytes shown = shown_of(content_, of);
        data.offset = storage->offset + shown.begin;
        data.length = shown.size;
        data.is_big_endian = is_big_endian_ && data.dtype != "u8" && data.dtype != "i8" && data.dtype != "bool";
        const std::uint64_t elements = shown.size / element.element_bytes;
        add(name, {&elements, 1}, "dense", {&data, 1});
        return check_index_size();
    }

    /// The numbers as they are stored, with what they count as attributes; what there is one of for each channel as
    /// tensors beside them.
    [[nodiscard]] result<void> add_quantized(const std::string& name, std::uint32_t number) {
        const pickle_tensor& tensor = content_.tensors[number];
        const pickle_value quantizer = content_.argument_of(tensor, 4);
        const pickle_value scheme = content_.item_of(quantizer, 0);
        const pickle_value scale = content_.item_of(quantizer, 1);
        const pickle_value zero_point = content_.item_of(quantizer, 2);
        attributes of_object;
        if (scheme.kind == pickle_kind::global) {
            of_object.set("qscheme", pickle_globals[scheme.place].name);
        }
        if (scale.kind == pickle_kind::number && zero_point.kind == pickle_kind::integer) {
            of_object.set("scale", content_.number_of(scale));
            of_object.set("zero_point", content_.integer_of(zero_point));
            return add_dense(name, number, &of_object);
        }
        const bool has_axis =
            content_.count_of(quantizer) == 4 && content_.item_of(quantizer, 3).kind == pickle_kind::integer;
        if (scale.kind != pickle_kind::tensor || zero_point.kind != pickle_kind::tensor || !has_axis) {
            return skip(name, "it is quantized in a way that is not known");
        }
        of_object.set("axis", content_.integer_of(content_.item_of(quantizer, 3)));
        result<void> added = add_dense(name, number, &of_object);
        added = added ? this->tensor(name + ".scale", scale) : std::move(added);
        return added ? this->tensor(name + ".zero_point", zero_point) : added;
    }

    // -- arrays of NumPy

    [[nodiscard]] result<void> add_array(const std::string& name, const pickled_array& array) {
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
        foreign_component component;
        component.dtype = type.dtype;
        component.type = type.type;
        component.offset = *at;
        component.length = *bytes;
        component.is_big_endian = array.element.is_big_endian;
        add(name, shape.sizes, "dense", {&component, 1});
        return check_index_size();
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
                                                            file_.options.max_decoded_bytes_),
                        bytes);
    }

    // -- sparse

    [[nodiscard]] result<void> add_sparse(const std::string& name, const pickle_tensor& tensor) {
        const std::string_view layout = content_.text_of(content_.argument_of(tensor, 0));
        const bool is_coo = layout == "torch.sparse_coo";
        const pickle_value made_of = content_.argument_of(tensor, 1);
        const std::size_t count = is_coo ? 2 : 3;
        placed_tensor parts[3]; // indices of one or two kinds, values
        for (std::size_t i = 0; i < count; ++i) {
            if (result<void> found = place(content_.item_of(made_of, i).place, parts[i]); !found) {
                return found;
            }
        }
        std::vector<std::uint64_t> sizes;
        const pickle_value& size = content_.item_of(made_of, count);
        for (std::size_t i = 0; i < content_.count_of(size); ++i) {
            sizes.push_back(size_of(content_, content_.item_of(size, i)));
        }
        placed_tensor& values = parts[count - 1];
        const bool has_plain_values = values.sizes.size() == 1;
        const bool is_csr = layout == "torch.sparse_csr" && sizes.size() == 2 && parts[0].data.dtype == "i64" &&
                            parts[1].data.dtype == "i64";
        const bool is_plain_coo = is_coo && parts[0].data.dtype == "i64" && !sizes.empty() &&
                                  parts[0].sizes.size() == 2 && parts[0].sizes[0] == sizes.size();
        if (has_plain_values && (is_csr || is_plain_coo)) {
            constexpr std::string_view roles_of_coo[] = {"coords", "values"},
                                       roles_of_csr[] = {"indptr", "indices", "values"};
            foreign_component components[3];
            for (std::size_t i = 0; i < count; ++i) {
                components[i] = parts[i].data;
                components[i].role = is_coo ? roles_of_coo[i] : roles_of_csr[i];
                components[i].dtype = i + 1 == count ? components[i].dtype : "u64"; // which none below zero is
            }
            add(name, sizes, is_coo ? "sparse_coo" : "sparse_csr", {components, count}, nullptr);
            return check_index_size();
        }
        return add_parts(name, layout, sizes, {parts, count});
    }

    /// Each part as a tensor of its own, where there is no format for them together.
    [[nodiscard]] result<void> add_parts(const std::string& name, std::string_view layout,
                                         const std::vector<std::uint64_t>& sizes, span<const placed_tensor> parts) {
        const bool is_by_rows = layout == "torch.sparse_csr" || layout == "torch.sparse_bsr";
        attributes of_object;
        of_object.set("layout", layout).set("size", sizes);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool is_last = i + 1 == parts.size();
            const char* const first = parts.size() == 2 ? ".indices" : is_by_rows ? ".crow_indices" : ".ccol_indices";
            const char* const second = is_by_rows ? ".col_indices" : ".row_indices";
            const std::string part = name + (is_last ? ".values" : i == 0 ? first : second);
            add(part, parts[i].sizes, "dense", {&parts[i].data, 1}, &of_object);
        }
        return check_index_size();
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

    const foreign_file& file_;
    assembled_source& all_;
    pickled content_;
    storage_finder& storages_;
    bool is_big_endian_;
    std::vector<std::optional<std::uint64_t>> gathered_; ///< where, of each tensor
    std::shared_ptr<decoded_bytes> decoded_;
    std::optional<std::uint64_t> decoded_at_, pickle_at_; ///< in all_, once an array needed them
    foreign_index index_;
    name_hashes attributes_; ///< of their names
    std::string first_skipped_;
    std::uint64_t objects_ = 0;
    std::size_t skipped_bytes_ = 0;
    std::uint64_t more_skipped_ = 0; ///< which are not listed
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
