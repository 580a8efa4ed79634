// SPDX-License-Identifier: MIT
//
// PyTorch: tensors as objects, and where their elements lie.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_TENSORS_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_TENSORS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt_content.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/import/strided.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pt places
//
// Where the elements of a checkpoint's tensors lie: in their storages as they are, or gathered from there, or with
// other signs. Knows no names, and no container.

/// Where the bytes of a storage lie.
struct placed_storage {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    string digest; ///< of all of them; "" for none
};

/// What finds the storages of a checkpoint in the container that it is in.
class storage_finder {
public:
    virtual ~storage_finder() = default;
    /// `key` is the storage's. Errors: schema_missing, size_mismatch; what the container says.
    virtual result<placed_storage> find(const pickle_storage& storage, string_view key) = 0;
    /// Where the pickle itself lies. Errors: what the container says.
    virtual result<uint64_t> place_pickle() = 0;
};

/// Bytes that a pickle spells otherwise than they are, and that stand in no file: they are here once all is read.
class decoded_bytes final : public byte_source {
public:
    explicit decoded_bytes(uint64_t size) noexcept : size_(size) {}
    void keep(vector<byte> bytes) noexcept { bytes_ = std::move(bytes); }

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }
    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), bytes_.size()));
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
        return {};
    }

private:
    uint64_t size_;
    vector<byte> bytes_;
};

/// A component, with the memory of its digest, and the shape of the tensor.
struct placed_tensor {
    foreign_component data;
    string digest;
    vector<uint64_t> sizes;
};

class pt_places {
public:
    /// All that is given outlives this.
    pt_places(assembled_source& all, const pickled& content, storage_finder& storages, bool is_big_endian)
        : all_(all), content_(content), storages_(storages), is_big_endian_(is_big_endian) {}

    /// Finds where a dense tensor's elements lie. Errors: limit_exceeded, shape_overflow, out_of_bounds; those of the
    /// storages.
    result<placed_tensor> place(uint32_t number) {
        const pickle_tensor& tensor = content_.tensors[number];
        if (tensor.form == pickle_form::too_many_sizes) {
            return fail(errc::limit_exceeded, "the tensor has more than {} dimensions", {max_rank});
        }
        const pickle_global& element = pickle_globals[tensor.element];
        strided_shape shape;
        ZTENSOR_TRY_ASSIGN(shown_storage storage, find(content_.storages[tensor.storage]));
        shape.sizes = content_.sizes_of(content_.argument_of(tensor, 2));
        shape.strides = content_.sizes_of(content_.argument_of(tensor, 3));
        const uint64_t width = element.element_bytes;
        const optional<uint64_t> bytes = count_elements(shape.sizes, width), reach = shape.reach();
        if (!bytes) {
            return fail(errc::shape_overflow, "the tensor has more elements or bytes than 64 bits can count");
        }
        const uint64_t offset = content_.size_of(content_.argument_of(tensor, 1));
        const uint64_t first = reach == uint64_t{0} ? 0 : offset; // nothing lies anywhere
        if (!reach || !fits(first, *reach, storage.shown / width)) {
            return fail(errc::out_of_bounds, "the tensor reaches beyond its storage of {} elements",
                        {storage.shown / width});
        }
        placed_tensor placed = {component_of(element, storage.offset + first * width, *bytes), {}, shape.sizes};
        const bool is_changed =
            *bytes != 0 && (tensor.form == pickle_form::conjugated || tensor.form == pickle_form::negated ||
                            tensor.form == pickle_form::conjugated_and_negated);
        if (!shape.is_contiguous() || is_changed) {
            ZTENSOR_TRY_ASSIGN(placed.data.offset, gather_once(number, placed.data, std::move(shape), is_changed));
        } else if (*bytes == storage.bytes) { // the checksum is that of all of its bytes
            placed.digest = std::move(storage.digest);
        }
        return placed;
    }

    /// A storage that stands alone. Errors: those of the storages.
    result<placed_tensor> place_storage(const pickle_storage& of) {
        ZTENSOR_TRY_ASSIGN(const shown_storage storage, find(of));
        const pickle_global& element = pickle_globals[of.element];
        return placed_tensor{
            component_of(element, storage.offset, storage.shown), {}, {storage.shown / element.element_bytes}};
    }

    /// An array of NumPy, which lies in the pickle. Errors: size_mismatch; what the container says.
    result<placed_tensor> place_array(const pickled_array& array) {
        const npy_type& type = *array.element.type;
        strided_shape shape;
        if (array.shape.kind == pickle_kind::tuple) {
            shape.sizes = content_.sizes_of(array.shape);
        }
        const optional<uint64_t> bytes = count_elements(shape.sizes, type.element_bytes);
        const bytes_view data = content_.bytes_of(array.data);
        if (!bytes || *bytes != data.size()) {
            return fail(errc::size_mismatch, "an array of NumPy has {} bytes, other than its shape says",
                        {data.size()});
        }
        placed_tensor placed;
        placed.data.dtype = type.dtype;
        placed.data.type = type.type;
        placed.data.length = *bytes;
        placed.data.is_big_endian = array.element.is_big_endian;
        placed.sizes = shape.sizes;
        ZTENSOR_TRY_ASSIGN(placed.data.offset, place_bytes(array.data));
        if (array.is_fortran) {
            shape.use_fortran_order();
            if (!shape.is_contiguous()) {
                ZTENSOR_TRY_ASSIGN(placed.data.offset,
                                   gather(placed.data, std::move(shape), static_cast<size_t>(type.element_bytes)));
            }
        }
        return placed;
    }

    /// Once all are placed: takes along what does not stand in the pickle as it is.
    void keep(vector<byte> decoded) noexcept {
        if (decoded_ != nullptr) {
            decoded_->keep(std::move(decoded));
        }
    }

private:
    /// A storage, or the view of it that is shown: where that begins, and its bytes.
    struct shown_storage : placed_storage {
        uint64_t shown = 0;
    };
    result<shown_storage> find(const pickle_storage& of) {
        shown_storage found;
        ZTENSOR_TRY_ASSIGN(static_cast<placed_storage&>(found), storages_.find(of, content_.text_of(of.key)));
        found.shown = of.bytes;
        if (of.view != 0) { // checked before: none overflows
            const uint64_t width = pickle_globals[of.element].element_bytes;
            found.offset += content_.size_of(content_.values[of.view + 2]) * width;
            found.shown = content_.size_of(content_.values[of.view + 3]) * width;
        }
        return found;
    }

    [[nodiscard]] foreign_component component_of(const pickle_global& element, uint64_t offset,
                                                 uint64_t length) const noexcept {
        foreign_component data;
        data.dtype = element.dtype;
        data.type = element.type;
        data.offset = offset;
        data.length = length;
        data.is_big_endian = is_big_endian_ && data.dtype != "u8" && data.dtype != "i8" && data.dtype != "bool";
        return data;
    }
    /// Where the bytes of a value lie in all_.
    result<uint64_t> place_bytes(const pickle_value& value) {
        optional<uint64_t>& begin = value.is_decoded ? decoded_at_ : pickle_at_;
        if (!begin && value.is_decoded) {
            decoded_ = std::make_shared<decoded_bytes>(content_.decoded.size());
            ZTENSOR_TRY_ASSIGN(begin, all_.add(decoded_, 0, decoded_->size()));
        } else if (!begin) {
            ZTENSOR_TRY_ASSIGN(begin, storages_.place_pickle());
        }
        return *begin + value.place + value.width;
    }
    result<uint64_t> gather(const foreign_component& from, strided_shape shape, size_t element_bytes) {
        return all_.add(std::make_unique<strided_elements>(all_, from.offset, std::move(shape), element_bytes, true),
                        from.length);
    }

    /// A tensor that stands in several places is gathered to one.
    result<uint64_t> gather_once(uint32_t number, const foreign_component& from, strided_shape shape, bool is_changed) {
        gathered_.resize(content_.tensors.size());
        if (gathered_[number]) {
            return *gathered_[number];
        }
        const pickle_tensor& tensor = content_.tensors[number];
        const pickle_global& element = pickle_globals[tensor.element];
        uint64_t at = from.offset;
        if (!shape.is_contiguous()) {
            ZTENSOR_TRY_ASSIGN(at, gather(from, std::move(shape), element.element_bytes));
        }
        if (is_changed) {
            ZTENSOR_TRY_ASSIGN(
                at, all_.add(std::make_unique<other_signs>(all_, at, sign_rule_of(tensor.form, element)), from.length));
        }
        gathered_[number] = at;
        return at;
    }
    [[nodiscard]] sign_rule sign_rule_of(pickle_form form, const pickle_global& element) const noexcept {
        const bool is_complex = !element.type.empty();
        sign_rule rule;
        rule.number_bytes = is_complex ? element.element_bytes / size_t{2} : element.element_bytes;
        rule.is_big_endian = is_big_endian_;
        rule.changes_first = form != pickle_form::conjugated;
        rule.changes_second = is_complex ? form != pickle_form::conjugated_and_negated : rule.changes_first;
        return rule;
    }

    assembled_source& all_;
    const pickled& content_;
    storage_finder& storages_;
    bool is_big_endian_;
    vector<optional<uint64_t>> gathered_; ///< where, of each tensor
    std::shared_ptr<decoded_bytes> decoded_;
    optional<uint64_t> decoded_at_, pickle_at_; ///< in all_, once an array needed them
};

// -- pt objects
//
// What is made of all parts of a checkpoint: its index, and what is skipped.

class pt_objects {
public:
    explicit pt_objects(const read_options& options) noexcept : options_(options) {}

    /// A pickle of so many bytes follows: so much more may be listed of what is skipped.
    void expect_pickle(size_t bytes) noexcept { skips_.allow(bytes); }

    /// Errors: manifest_too_large.
    result<void> add(const string& name, span<const uint64_t> dimensions, string_view format,
                     span<const foreign_component> components, const attributes* of_object) {
        ++objects_;
        index_.add(name, dimensions, format, components, of_object);
        return check_size();
    }

    /// Where the caller appends the value of an attribute; null if one has the same name.
    [[nodiscard]] cbor_encoder* attribute(const string& name) {
        return attributes_.insert(name) ? &index_.attribute(name) : nullptr;
    }

    void skip(const string& name, string why) {
        if (first_skipped_.empty()) {
            first_skipped_ = sentence("{}: {}", {in_quotes(name), why});
        }
        skips_.add(string_view(name).substr(0, max_name_bytes), "", std::move(why));
    }

    /// Values may stand in many places, each under a name of its own. Errors: manifest_too_large.
    result<void> check_size() const { return check_index_size(index_, options_, "checkpoint"); }

    /// All of it. Errors: pickle_refused where no tensor can be read; those of the index.
    result<imported> finish(std::shared_ptr<const byte_source> source) {
        if (!first_skipped_.empty() && objects_ == 0) {
            return fail(errc::pickle_refused, "no tensor of the checkpoint can be read: {}", {first_skipped_});
        }
        if (objects_ == 0 && !attributes_.empty()) {
            index_.skip("", "", "the checkpoint holds numbers and texts, but no tensor");
        }
        attributes_ = name_hashes(); // the index takes its memory
        skips_.finish(" more values are skipped, too many to be listed");
        ZTENSOR_TRY_ASSIGN(imported made, finish_import(container_kind::pt, index_, std::move(source), options_));
        made.blobs_may_overlap = true;
        return made;
    }

private:
    const read_options& options_;
    foreign_index index_;
    name_hashes attributes_; ///< of their names
    string first_skipped_;
    uint64_t objects_ = 0;
    /// A value may be shared by very many places, each with an item in the list of what is skipped.
    bounded_skips skips_{index_, uint64_t{256} << 10};
};

// -- pt tensors
//
// Tensors of a PyTorch checkpoint as objects: dense ones viewed or gathered, sparse and quantized ones in their parts,
// and what is none of them as attributes or as skipped.

/// The visitor of pt_walk.
class pt_tensors {
public:
    pt_tensors(assembled_source& all, pickled content, storage_finder& storages, bool is_big_endian, pt_objects& to)
        : content_(std::move(content)), places_(all, content_, storages, is_big_endian), to_(to) {
        to_.expect_pickle(content_.source.size());
    }

    /// All of this part of the checkpoint, once. Errors: see pt_walk::run(); those of the storages.
    result<void> add_to_objects(const pt_names& names) {
        result<void> walked = pt_walk<pt_tensors>(content_, *this).run(names);
        places_.keep(std::move(content_.decoded));
        return walked;
    }

    // -- what pt_walk calls

    result<void> tensor(const string& name, const pickle_value& value) {
        if (value.kind == pickle_kind::storage) {
            const pickle_storage& storage = content_.storages[value.place];
            return storage.is_meta ? skip(name, "it is a storage on the device meta, which has no elements")
                                   : add_dense(name, places_.place_storage(storage));
        }
        if (value.kind == pickle_kind::object) {
            return add_dense(name, places_.place_array(read_numpy_array(content_, value)));
        }
        const pickle_tensor& tensor = content_.tensors[value.place];
        const string_view element = pickle_globals[tensor.element].name;
        if (tensor.form != pickle_form::sparse && (element == "QUInt4x2Storage" || element == "QUInt2x4Storage")) {
            return skip(name, "several of its elements share a byte, as those of " + string(element) + " do");
        }
        switch (tensor.form) {
        case pickle_form::meta:
            return skip(name, "it is on the device meta, which has no elements");
        case pickle_form::sparse:
            return add_sparse(name, tensor);
        case pickle_form::quantized:
            return add_quantized(name, value.place);
        default:
            return add_dense(name, places_.place(value.place));
        }
    }
    result<void> attribute(const string& name, const pickle_value& value) {
        cbor_encoder* const encoded = to_.attribute(name);
        if (encoded == nullptr) {
            return skip(name, "another value has the same name");
        }
        encode_pickled(content_, value, *encoded);
        return to_.check_size();
    }
    result<void> skip(const string& name, string why) {
        to_.skip(name, std::move(why));
        return {};
    }

private:
    result<void> add_dense(const string& name, const result<placed_tensor>& placed,
                           const attributes* of_object = nullptr) {
        return placed ? add_dense(name, *placed, of_object) : placed.error();
    }
    result<void> add_dense(const string& name, const placed_tensor& placed, const attributes* of_object) {
        foreign_component data = placed.data;
        data.digest = placed.digest;
        return to_.add(name, placed.sizes, "dense", {&data, 1}, of_object);
    }

    /// The numbers as they are stored, with what they count as attributes; what there is one of for each channel as
    /// tensors beside them.
    result<void> add_quantized(const string& name, uint32_t number) {
        const pickle_value quantizer = content_.argument_of(content_.tensors[number], 4);
        const pickle_value scheme = content_.item_of(quantizer, 0), scale = content_.item_of(quantizer, 1);
        const pickle_value zero_point = content_.item_of(quantizer, 2), axis = content_.item_or_none(quantizer, 3);
        attributes of_object;
        if (scheme.kind == pickle_kind::global) {
            of_object.set("qscheme", pickle_globals[scheme.place].name);
        }
        if (scale.kind == pickle_kind::number && zero_point.kind == pickle_kind::integer) {
            of_object.set("scale", content_.number_of(scale));
            of_object.set("zero_point", content_.integer_of(zero_point));
            return add_dense(name, places_.place(number), &of_object);
        }
        if (scale.kind != pickle_kind::tensor || zero_point.kind != pickle_kind::tensor ||
            !content_.is_tuple_of(quantizer, 4) || axis.kind != pickle_kind::integer) {
            return skip(name, "it is quantized in a way that is not known");
        }
        of_object.set("axis", content_.integer_of(axis));
        ZTENSOR_TRY(add_dense(name, places_.place(number), &of_object));
        ZTENSOR_TRY(tensor(name + ".scale", scale));
        return tensor(name + ".zero_point", zero_point);
    }

    result<void> add_sparse(const string& name, const pickle_tensor& tensor) {
        const string_view layout = content_.text_of(content_.argument_of(tensor, 0));
        const bool is_coo = layout == "torch.sparse_coo";
        const pickle_value made_of = content_.argument_of(tensor, 1);
        const size_t count = is_coo ? 2 : 3;
        placed_tensor parts[3]; // indices of one or two kinds, values
        for (size_t i = 0; i < count; ++i) {
            ZTENSOR_TRY_ASSIGN(parts[i], places_.place(content_.item_of(made_of, i).place));
        }
        const vector<uint64_t> sizes = content_.sizes_of(content_.item_of(made_of, count));
        const bool has_plain_values = parts[count - 1].sizes.size() == 1;
        const bool is_csr = layout == "torch.sparse_csr" && sizes.size() == 2 && parts[0].data.dtype == "i64" &&
                            parts[1].data.dtype == "i64";
        const bool is_plain_coo = is_coo && parts[0].data.dtype == "i64" && !sizes.empty() &&
                                  parts[0].sizes.size() == 2 && parts[0].sizes[0] == sizes.size();
        if (has_plain_values && (is_csr || is_plain_coo)) {
            constexpr string_view roles_of_coo[] = {"coords", "values"},
                                  roles_of_csr[] = {"indptr", "indices", "values"};
            foreign_component components[3];
            for (size_t i = 0; i < count; ++i) {
                components[i] = parts[i].data;
                components[i].digest = parts[i].digest;
                components[i].role = is_coo ? roles_of_coo[i] : roles_of_csr[i];
                components[i].dtype = i + 1 == count ? components[i].dtype : "u64"; // which none below zero is
            }
            return to_.add(name, sizes, is_coo ? "sparse_coo" : "sparse_csr", {components, count}, nullptr);
        }
        return add_parts(name, layout, sizes, {parts, count});
    }

    /// Each part as a tensor of its own, where there is no format for them together.
    result<void> add_parts(const string& name, string_view layout, const vector<uint64_t>& sizes,
                           span<const placed_tensor> parts) {
        const bool is_by_rows = layout == "torch.sparse_csr" || layout == "torch.sparse_bsr";
        attributes of_object;
        of_object.set("layout", layout).set("size", sizes);
        for (size_t i = 0; i < parts.size(); ++i) {
            const bool is_last = i + 1 == parts.size();
            const char* const first = parts.size() == 2 ? ".indices" : is_by_rows ? ".crow_indices" : ".ccol_indices";
            const char* const second = is_by_rows ? ".col_indices" : ".row_indices";
            const string part = name + (is_last ? ".values" : i == 0 ? first : second);
            ZTENSOR_TRY(add_dense(part, parts[i], &of_object));
        }
        return {};
    }

    pickled content_;
    pt_places places_;
    pt_objects& to_;
};

/// A file of PyTorch that is being imported.
struct pt_import {
    explicit pt_import(const foreign_file& imported_file)
        : file(imported_file), all(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes())),
          objects(file.options) {}

    const foreign_file& file;
    std::shared_ptr<assembled_source> all;
    pt_objects objects;

    /// What a pickle holds. Errors: those of pt_tensors.
    result<void> add(pickled content, storage_finder& storages, bool is_big_endian, const pt_names& names) {
        return pt_tensors(*all, std::move(content), storages, is_big_endian, objects).add_to_objects(names);
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
