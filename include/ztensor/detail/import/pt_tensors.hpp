// SPDX-License-Identifier: MIT
//
// PyTorch: tensors as objects.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_TENSORS_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_TENSORS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/import/foreign_index.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_numpy.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt_content.hpp>
#include <ztensor/detail/import/pt_entries.hpp>
#include <ztensor/detail/import/pt_places.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pt objects
//
// What is made of all parts of a checkpoint: its index, and what is skipped.

class pt_objects {
public:
    explicit pt_objects(const read_options& options) noexcept : options_(options) {}

    /// A pickle of so many bytes follows: so much more may be listed of what is skipped.
    void expect_pickle(std::size_t bytes) noexcept { most_skipped_bytes_ += bytes; }

    /// Errors: manifest_too_large.
    [[nodiscard]] result<void> add(const std::string& name, span<const std::uint64_t> dimensions,
                                   std::string_view format, span<const foreign_component> components,
                                   const attributes* of_object = nullptr) {
        ++objects_;
        index_.add(name, dimensions, format, components, of_object);
        return check_size();
    }

    /// Where the caller appends the value of an attribute; null if one has the same name.
    [[nodiscard]] cbor_encoder* attribute(const std::string& name) {
        return attributes_.insert(name) ? &index_.attribute(name) : nullptr;
    }

    void skip(const std::string& name, std::string why) {
        constexpr std::size_t cost = 128; // of an item besides its texts
        if (first_skipped_.empty()) {
            first_skipped_ = sentence("{}: {}", {in_quotes(name), why});
        }
        const std::size_t size = name.size() + why.size() + cost;
        if (skipped_bytes_ + size > most_skipped_bytes_) {
            ++more_skipped_;
            return;
        }
        skipped_bytes_ += size;
        index_.skip(std::string_view(name).substr(0, max_name_bytes), "", std::move(why));
    }

    /// Values may stand in many places, each under a name of its own. Errors: manifest_too_large.
    [[nodiscard]] result<void> check_size() const {
        return index_.bytes() <= options_.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the checkpoint takes more than the {} bytes allowed",
                          {options_.max_manifest_bytes_});
    }

    /// All of it. Errors: pickle_refused where no tensor can be read; those of the index.
    [[nodiscard]] result<imported> finish(std::shared_ptr<const byte_source> source) {
        if (!first_skipped_.empty() && objects_ == 0) {
            return fail(errc::pickle_refused, "no tensor of the checkpoint can be read: {}", {first_skipped_});
        }
        if (objects_ == 0 && !attributes_.empty()) {
            index_.skip("", "", "the checkpoint holds numbers and texts, but no tensor");
        }
        attributes_ = name_hashes(); // the index takes its memory
        if (more_skipped_ != 0) {
            index_.skip("", "", sentence("{} more values are skipped, too many to be listed", {more_skipped_}));
        }
        ZTENSOR_TRY_ASSIGN(byte_buffer index, index_.finish(options_.max_manifest_bytes_));
        imported made;
        made.kind = container_kind::pt;
        made.index = std::move(index);
        made.source = std::move(source);
        made.skipped = index_.take_skipped();
        made.blobs_may_overlap = true;
        return made;
    }

private:
    const read_options& options_;
    foreign_index index_;
    name_hashes attributes_; ///< of their names
    std::string first_skipped_;
    std::uint64_t objects_ = 0;
    std::size_t skipped_bytes_ = 0;
    /// Bounds the memory of the list of skipped values, beside the bytes of the pickles: a value may be shared by very
    /// many places, each with an item in the list.
    std::size_t most_skipped_bytes_ = std::size_t{256} << 10;
    std::uint64_t more_skipped_ = 0; ///< which are not listed
};

// -- pt tensors
//
// Tensors of a PyTorch checkpoint as objects: dense ones viewed or gathered, sparse and quantized ones in their parts,
// and what is none of them as attributes or as skipped. Knows no container: a storage_finder finds storages in it.

class pt_tensors final : public pt_visitor {
public:
    pt_tensors(assembled_source& all, pickled content, storage_finder& storages, bool is_big_endian, pt_objects& to)
        : content_(std::move(content)), places_(all, content_, storages, is_big_endian), to_(to) {
        to_.expect_pickle(content_.source.size());
    }

    /// All of this part of the checkpoint, once. Errors: see pt_walk::run(); those of the storages.
    [[nodiscard]] result<void> add_to_objects(const pt_names& names) {
        result<void> walked = pt_walk(content_).run(names, *this);
        places_.keep(std::move(content_.decoded));
        return walked;
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
        cbor_encoder* const encoded = to_.attribute(name);
        if (encoded == nullptr) {
            return skip(name, "another value has the same name");
        }
        result<void> done = encode_pickled(content_, value, *encoded);
        return done ? to_.check_size() : done;
    }
    [[nodiscard]] result<void> skip(const std::string& name, std::string why) override {
        to_.skip(name, std::move(why));
        return {};
    }

private:
    [[nodiscard]] result<void> add_dense(const std::string& name, std::uint32_t number, const attributes* of_object) {
        placed_tensor placed;
        result<void> found = places_.place(number, placed);
        return found ? to_.add(name, placed.sizes, "dense", {&placed.data, 1}, of_object) : found;
    }

    [[nodiscard]] result<void> add_storage(const std::string& name, const pickle_storage& of) {
        if (of.is_meta) {
            return skip(name, "it is a storage on the device meta, which has no elements");
        }
        placed_tensor placed;
        result<void> found = places_.place_storage(of, placed);
        return found ? to_.add(name, placed.sizes, "dense", {&placed.data, 1}) : found;
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

    [[nodiscard]] result<void> add_array(const std::string& name, const pickled_array& array) {
        placed_tensor placed;
        result<void> found = places_.place_array(array, placed);
        return found ? to_.add(name, placed.sizes, "dense", {&placed.data, 1}) : found;
    }

    // -- sparse

    [[nodiscard]] result<void> add_sparse(const std::string& name, const pickle_tensor& tensor) {
        const std::string_view layout = content_.text_of(content_.argument_of(tensor, 0));
        const bool is_coo = layout == "torch.sparse_coo";
        const pickle_value made_of = content_.argument_of(tensor, 1);
        const std::size_t count = is_coo ? 2 : 3;
        placed_tensor parts[3]; // indices of one or two kinds, values
        for (std::size_t i = 0; i < count; ++i) {
            ZTENSOR_TRY(places_.place(content_.item_of(made_of, i).place, parts[i]));
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
            return to_.add(name, sizes, is_coo ? "sparse_coo" : "sparse_csr", {components, count});
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
            ZTENSOR_TRY(to_.add(part, parts[i].sizes, "dense", {&parts[i].data, 1}, &of_object));
        }
        return {};
    }

    pickled content_;
    pt_places places_;
    pt_objects& to_;
};

/// What a file whose tensors are in one pickle is imported as; `stem` names a tensor that stands alone.
[[nodiscard]] inline result<imported> import_pickled(const foreign_file& file, std::shared_ptr<assembled_source> all,
                                                     pickled content, storage_finder& storages,
                                                     const std::string& stem) {
    pt_objects objects(file.options);
    result<void> added =
        pt_tensors(*all, std::move(content), storages, false, objects).add_to_objects({stem, std::string()});
    return added ? objects.finish(std::move(all)) : std::move(added).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
