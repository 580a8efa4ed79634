// SPDX-License-Identifier: MIT
//
// HDF5: where datasets lie, and what becomes an object.
#ifndef ZTENSOR_DETAIL_HDF5_IMPORT_HDF5_HPP
#define ZTENSOR_DETAIL_HDF5_IMPORT_HDF5_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/hdf5/datasets.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/detail/hdf5/values.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- place
//
// Where the HDF5 file is: the file itself, or an entry of an archive that Keras wrote.

struct hdf5_place {
    std::shared_ptr<const byte_source> source; ///< of the HDF5 file alone
    uint64_t begin = 0;                        ///< of the same bytes in the assembled source
};

/// Content that was inflated.
struct inflated_content {
    byte_buffer bytes;
    memory_source source;

    explicit inflated_content(byte_buffer content) noexcept : bytes(std::move(content)), source(bytes.bytes()) {}
};

/// The weights in an archive. Its other entries, besides what Keras says of the model, are skipped.
ZTENSOR_COLD inline result<hdf5_place> find_hdf5_in_archive(const foreign_file& file, assembled_source& all,
                                                            foreign_index& index) {
    ZTENSOR_TRY_ASSIGN(const zip_directory directory, zip_directory::read(*file.source, file.options));
    const zip_entry* const weights = directory.find(keras_weights);
    if (weights == nullptr) {
        return fail(errc::foreign_file, "the file is a ZIP archive without an entry model.weights.h5");
    }
    for (const zip_entry& each : directory.entries()) {
        const bool is_folder = each.name.back() == '/' && each.size == 0;
        if (&each != weights && !is_folder && each.name != "config.json" && each.name != "metadata.json") {
            index.skip(each.name, "the archive", "only model.weights.h5 is read of a Keras archive");
        }
    }
    hdf5_place place;
    if (!weights->is_deflated) {
        place.source = std::make_shared<range_source>(file.source, weights->offset, weights->size);
        place.begin = weights->offset;
        return place;
    }
    ZTENSOR_TRY_ASSIGN(byte_buffer content, read_content(*file.source, *weights, file.options.max_decoded_bytes()));
    const auto inflated = std::make_shared<inflated_content>(std::move(content));
    place.source = std::shared_ptr<const byte_source>(inflated, &inflated->source);
    ZTENSOR_TRY_ASSIGN(place.begin, all.add(place.source, 0, place.source->size()));
    return place;
}

/// Errors: foreign_file for what is neither; those of the archive.
ZTENSOR_COLD inline result<hdf5_place> find_hdf5(const foreign_file& file, assembled_source& all,
                                                 foreign_index& index) {
    ZTENSOR_TRY_ASSIGN(const bool is_hdf5, has_hdf5_signature(*file.source));
    if (is_hdf5) {
        return hdf5_place{file.source, 0};
    }
    constexpr string_view zip_magic = "PK\x03\x04";
    byte start[zip_magic.size()] = {};
    if (file.source->size() >= sizeof start) {
        ZTENSOR_TRY(file.source->read_at(0, span<byte>(start)));
    }
    if (as_text(bytes_view(start)) == zip_magic) {
        return find_hdf5_in_archive(file, all, index);
    }
    return fail(errc::foreign_file, "the file is no HDF5 file: it lacks the signature of the superblock, "
                                    "89 48 44 46 0d 0a 1a 0a");
}

// -- import hdf5
//
// An HDF5 file, or the one in a Keras archive -> our index.

class hdf5_importer_run {
public:
    /// `begin` is where the HDF5 file stands in `all`.
    hdf5_importer_run(const foreign_file& file, std::shared_ptr<hdf5_file> content, foreign_index& index,
                      assembled_source& all, uint64_t begin)
        : file_(file), content_(std::move(content)), index_(index), all_(all), begin_(begin), siblings_(file, all),
          made_(std::make_shared<hdf5_datasets>(content_, file.options.max_decoded_bytes())) {}

    /// Every object of the file under every name that it has, each looked at once: without recursion, and without
    /// following links out of the file. Paths start with no slash; that of the root is "".
    result<void> walk() {
        const hdf5_session session;
        ZTENSOR_TRY(session.check());
        const hdf5_id refuse_external(::H5Pcreate(H5P_LINK_ACCESS), &H5Pclose);
        if (!refuse_external || ::H5Pset_elink_cb(refuse_external.get(), &refuse, nullptr) < 0) {
            return content_->failure("prepare to follow links");
        }
        const hdf5_id root(::H5Oopen(content_->id(), "/", H5P_DEFAULT), &H5Oclose);
        hdf5_address address;
        if (!root || !find_hdf5_address(root.get(), address)) {
            return content_->failure("open the root group");
        }
        result<void> done = visit_object(root.get(), address, {});
        while (done && !pending_.empty()) {
            const named_link next = std::move(pending_.back());
            pending_.pop_back();
            done = visit_hard(next);
        }
        for (size_t i = 0; done && i < soft_.size(); ++i) { // by now all groups are known by their own names
            done = visit_soft(soft_[i], refuse_external.get());
        }
        return done ? content_->check_source() : done;
    }

private:
    struct named_link {
        string path;
        hdf5_address address; ///< of a hard link
        int64_t number = 0;   ///< in the order in which links were made, where the group keeps that
        H5L_type_t type = H5L_TYPE_HARD;
    };
    /// What the visitor of one group's links fills.
    struct listing {
        hdf5_importer_run* walk;
        const string* group;
        vector<named_link> links;
        result<void> done;
    };
    static constexpr size_t is_no_dataset = ~size_t{0};

    static herr_t refuse(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) noexcept {
        return -1;
    }

    static herr_t take_link(hid_t /*group*/, const char* name, const hdf5_link_info* link, void* into) noexcept {
        auto& taken = *static_cast<listing*>(into);
        if (++taken.walk->link_count_ > taken.walk->file_.options.max_objects()) {
            taken.done =
                fail(errc::limit_exceeded, "the file has more than the {} links that read_options::max_objects allows",
                     {taken.walk->file_.options.max_objects()});
            return -1;
        }
        taken.done = guard_memory([&] { // C lies between here and who could catch what is thrown
            taken.links.push_back(taken.walk->named(*taken.group, name, *link));
            return result<void>();
        });
        return taken.done ? 0 : -1;
    }
    [[nodiscard]] static named_link named(const string& group, const char* name, const hdf5_link_info& link) {
        named_link made;
        made.path = group.empty() ? string(name) : group + '/' + name;
        made.type = link.type;
        made.number = link.corder_valid ? link.corder : 0;
        if (link.type == H5L_TYPE_HARD) {
            made.address = address_of_link(link);
        }
        return made;
    }

    /// The links of a group, in the order in which they were made where the group keeps that, else of their names.
    result<void> list(hid_t group, const string& path) {
        listing all{this, &path, {}, {}};
        const herr_t done = visit_hdf5_links(group, &take_link, &all);
        ZTENSOR_TRY(std::move(all.done));
        if (done < 0) {
            return content_->failure("list a group");
        }
        std::sort(all.links.begin(), all.links.end(), [](const named_link& a, const named_link& b) {
            return a.number != b.number ? a.number < b.number : a.path < b.path;
        });
        take(std::move(all.links));
        return {};
    }

    /// The first link is to be visited first.
    void take(vector<named_link> links) {
        for (size_t i = links.size(); i-- != 0;) {
            if (links[i].type == H5L_TYPE_HARD) {
                pending_.push_back(std::move(links[i]));
            }
        }
        for (named_link& each : links) {
            if (each.path.empty()) {
                continue; // it was taken
            }
            if (each.type == H5L_TYPE_SOFT) {
                soft_.push_back(std::move(each));
            } else if (each.type == H5L_TYPE_EXTERNAL) {
                skip(each.path, "it is a link into another file, which is not followed");
            } else if (each.type != H5L_TYPE_HARD) {
                skip(each.path, "it is a link of a kind that programs define, which is not followed");
            }
        }
    }

    result<void> visit_hard(const named_link& link) {
        if (const auto known = known_.find(link.address); known != known_.end()) {
            return visit_again(known->second, link.path);
        }
        const hdf5_id object = open_hdf5_object(content_->id(), link.address);
        if (!object) {
            return skip_failed(content_->failure("open an object"), link.path, "");
        }
        return visit_object(object.get(), link.address, link.path);
    }

    result<void> visit_soft(const named_link& link, hid_t refuse_external) {
        const hdf5_id object(::H5Oopen(content_->id(), link.path.c_str(), refuse_external), &H5Oclose);
        hdf5_address address;
        if (!object || !find_hdf5_address(object.get(), address)) {
            skip(link.path, "it is a link that leads to nothing in this file");
            return {};
        }
        const auto known = known_.find(address);
        return known != known_.end() ? visit_again(known->second, link.path)
                                     : visit_object(object.get(), address, link.path);
    }

    result<void> visit_again(size_t number, const string& path) {
        return number != is_no_dataset ? again(number, path) : result<void>();
    }

    result<void> visit_object(hid_t object, const hdf5_address& address, const string& path) {
        switch (::H5Iget_type(object)) {
        case H5I_GROUP: {
            known_.emplace(address, is_no_dataset);
            if (path.size() > max_name_bytes) { // which ends a deep nesting, too
                skip(path.substr(0, max_name_bytes), "it is a group whose path is longer than 4096 bytes");
                return {};
            }
            result<void> visited = group(object, path);
            return visited ? list(object, path) : visited;
        }
        case H5I_DATASET: {
            ZTENSOR_TRY_ASSIGN(size_t number, dataset(object, path));
            known_.emplace(address, number);
            return {};
        }
        default:
            known_.emplace(address, is_no_dataset);
            skip(path, "it is neither a group nor a dataset");
            return {};
        }
    }

    // -- groups and datasets

    struct entry {
        string refused; ///< why it is no object; "" if it is one
        hdf5_elements elements;
        vector<uint64_t> dimensions; ///< without those within an element
        vector<uint64_t> shape;
        uint64_t offset = 0; ///< in the assembled source
        uint64_t bytes = 0;
        attributes of_object;
    };

    result<void> group(hid_t group, const string& path) {
        vector<string> names;
        if (!list_hdf5_attributes(group, names)) {
            return skip_failed(content_->failure("list the attributes of a group"), "", "attributes of /" + path);
        }
        for (const string& name : names) {
            const string key = path.empty() ? name : path + '/' + name;
            value_.clear();
            const char* refused = is_name(key) ? encode(group, name) : not_a_name;
            if (refused == nullptr && !file_keys_.insert(key).second) {
                refused = "another attribute of the file has that name";
            }
            if (refused != nullptr) {
                skip_attribute(name, path, refused);
                continue;
            }
            index_.attribute(key).encoded(value_.bytes());
            is_of_keras_ = is_of_keras_ || key == "keras_version";
        }
        return check_index_size(index_, file_.options, "file");
    }

    result<size_t> dataset(hid_t dataset, const string& path) {
        entry made;
        result<void> described = describe(dataset, path, made);
        if (!described && described.error().code() != errc::header_malformed) {
            return located(std::move(described).error(), path);
        }
        if (!described) { // by libhdf5, perhaps for being older than the file
            made.refused = described.error().sentence();
        }
        entries_.push_back(std::move(made));
        ZTENSOR_TRY(again(entries_.size() - 1, path));
        return entries_.size() - 1;
    }

    /// What the dataset is and where its elements are, or why it is no object. Errors: header_malformed where libhdf5
    /// can't say; shape_overflow, truncated; what the source says.
    result<void> describe(hid_t dataset, const string& path, entry& made) {
        ZTENSOR_TRY(read_attributes(dataset, path, made.of_object));
        const hdf5_id type(::H5Dget_type(dataset), &H5Tclose);
        const hdf5_id properties(::H5Dget_create_plist(dataset), &H5Pclose);
        if (!type || !properties) {
            return content_->failure("read what a dataset is");
        }
        if (const char* const refused = hdf5_classifier(made.elements, dtype_word_).classify(type.get())) {
            made.refused = refused;
            return {};
        }
        if (::H5Pget_layout(properties.get()) == H5D_VIRTUAL) {
            made.refused = "it is virtual: its elements lie in other files, which are not followed";
            return {};
        }
        ZTENSOR_TRY(find_shape(dataset, made));
        return made.refused.empty() ? place(dataset, properties.get(), path, made) : result<void>();
    }

    result<void> again(size_t number, const string& path) {
        const entry& known = entries_[number];
        if (!known.refused.empty() || !is_name(path)) {
            skip(path, known.refused.empty() ? not_a_name : known.refused);
            return {};
        }
        foreign_component data;
        data.dtype = known.elements.dtype;
        data.type = known.elements.type;
        data.offset = known.offset;
        data.length = known.bytes;
        data.is_big_endian = known.elements.is_big_endian;
        index_.add(path, known.shape, "dense", {&data, 1}, known.of_object.empty() ? nullptr : &known.of_object);
        return check_index_size(index_, file_.options, "file");
    }

    void skip(const string& path, string why) { index_.skip(path.empty() ? "/" : path, "", std::move(why)); }
    /// What libhdf5 can't open, which says so; what the source says stays an error.
    result<void> skip_failed(error why, const string& name, const string& where) {
        if (why.code() != errc::header_malformed) {
            return located(std::move(why), name);
        }
        index_.skip(name, where, string(why.sentence()));
        return {};
    }

    static constexpr const char* not_a_name = "its name is empty, longer than 4096 bytes, no UTF-8, or holds U+0000";

    [[nodiscard]] static bool is_name(string_view name) noexcept { return name_problem(name) == nullptr; }
    [[nodiscard]] static error located(error why, const string& path) {
        return std::move(why).in_object(path.empty() ? "/" : path);
    }

    void skip_attribute(const string& name, const string& path, const char* why) {
        index_.skip(name, "attributes of /" + path, why);
    }
    [[nodiscard]] const char* encode(hid_t object, const string& name) {
        return hdf5_attribute_reader(object, name.c_str(), file_.options.max_manifest_bytes()).encode(value_);
    }

    result<void> read_attributes(hid_t dataset, const string& path, attributes& of_object) {
        dtype_word_ = is_of_keras_ ? "bfloat16" : "";
        names_.clear();
        if (!list_hdf5_attributes(dataset, names_)) {
            return skip_failed(content_->failure("list the attributes of a dataset"), "", "attributes of /" + path);
        }
        for (const string& name : names_) {
            value_.clear();
            const char* const refused = is_name(name) ? encode(dataset, name) : not_a_name;
            if (refused != nullptr) {
                skip_attribute(name, path, refused);
                continue;
            }
            ZTENSOR_TRY(of_object.set_cbor(name, value_.bytes()));
            cbor_text word;
            if (name == "dtype" && cbor_cursor(value_.bytes()).read_text(word)) {
                dtype_word_ = string(word.text);
            }
        }
        return {};
    }

    result<void> find_shape(hid_t dataset, entry& made) {
        const hdf5_id space(::H5Dget_space(dataset), &H5Sclose);
        if (!space) {
            return content_->failure("read the shape of a dataset");
        }
        if (::H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
            made.refused = "it has no elements and no shape: its dataspace is H5S_NULL";
            return {};
        }
        hsize_t dimensions[H5S_MAX_RANK] = {};
        const int rank = ::H5Sget_simple_extent_dims(space.get(), dimensions, nullptr);
        if (rank < 0) {
            return content_->failure("read the shape of a dataset");
        }
        made.dimensions.assign(dimensions, dimensions + rank);
        made.shape = made.dimensions;
        const vector<uint64_t>& inner = made.elements.inner_dimensions;
        made.shape.insert(made.shape.end(), inner.begin(), inner.end());
        const optional<uint64_t> bytes = count_elements(made.dimensions, made.elements.bytes);
        if (!bytes || made.shape.size() > max_rank) {
            return fail(errc::shape_overflow,
                        "a dataset has more elements or bytes than 64 bits can count, or more than {} dimensions",
                        {max_rank});
        }
        made.bytes = *bytes;
        return {};
    }

    /// Where its elements are: in the file itself, in another beside it, or where libhdf5 makes them.
    result<void> place(hid_t dataset, hid_t properties, const string& path, entry& made) {
        if (made.bytes == 0) {
            made.offset = begin_ + content_->size();
            return {};
        }
        if (::H5Pget_external_count(properties) > 0) {
            return place_external(properties, made);
        }
        // Of a dataset that was never written there is nothing in the file, and its offset says nothing.
        const bool is_in_file = ::H5Pget_layout(properties) == H5D_CONTIGUOUS &&
                                ::H5Dget_storage_size(dataset) == made.bytes && !made.elements.is_converted;
        const haddr_t offset = is_in_file ? ::H5Dget_offset(dataset) : HADDR_UNDEF;
        if (offset != HADDR_UNDEF) {
            if (!fits(offset, made.bytes, content_->size())) {
                return fail(errc::truncated, "the elements take {} bytes, beyond the end of the file", {made.bytes})
                    .at(offset);
            }
            made.offset = begin_ + offset;
            return {};
        }
        made.refused = why_unfiltered(dataset, properties);
        if (!made.refused.empty()) {
            return {};
        }
        hdf5_dataset added;
        added.path = '/' + path;
        added.dimensions = made.dimensions;
        added.element_bytes = made.elements.bytes;
        added.bytes = made.bytes;
        added.kept_bytes = hdf5_chunk_bytes_to_keep(properties, made.dimensions, made.elements.bytes);
        added.converted_to = made.elements.is_converted ? made.elements.dtype : string_view();
        const optional<uint64_t> begin = made_->add(std::move(added));
        if (!begin) {
            return fail(errc::out_of_bounds, "the datasets are together more than 64 bits can count");
        }
        ZTENSOR_TRY_ASSIGN(made.offset, all_.add(made_, *begin, made.bytes));
        return {};
    }

    /// Why the chunks can't be read: the first that is stored went through a filter that libhdf5 does not have. "" if
    /// it has all, or the writer left the filter out (an optional one does not run where it would make chunks larger).
    [[nodiscard]] static string why_unfiltered(hid_t dataset, hid_t properties) {
        const int count = ::H5Pget_nfilters(properties);
        for (int i = 0; i < count; ++i) {
            char name[64] = {};
            unsigned flags = 0;
            size_t values = 0;
            const H5Z_filter_t filter = ::H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr,
                                                         sizeof name - 1, name, nullptr);
            if (filter >= 0 && ::H5Zfilter_avail(filter) <= 0 && hdf5_chunks_go_through(dataset, i)) {
                return sentence("its elements are compressed by the filter {}, {}, which this libhdf5 does not have: "
                                "set HDF5_PLUGIN_PATH to its plugin, or repack the file without it (h5repack)",
                                {filter, in_quotes(hdf5_filter_name(filter, name))});
            }
        }
        return {};
    }

    /// In one range of a file below the folder of this one; nothing else is opened.
    result<void> place_external(hid_t properties, entry& made) {
        hdf5_external_file there;
        if (made.elements.is_converted || ::H5Pget_external_count(properties) != 1 ||
            !find_hdf5_external(&H5Pget_external, properties, 0, there) || there.length < made.bytes) {
            made.refused = "its elements lie in several other files, or are of an odd type";
            return {};
        }
        const result<sibling_files::sibling> sibling = siblings_.find(there.name.data());
        if (!sibling && sibling.error().code() == errc::name_invalid) {
            made.refused = "its elements lie in a file that is not below the folder of this one";
            return {};
        }
        if (!sibling) {
            return sibling.error();
        }
        if (!fits(there.offset, made.bytes, sibling->size)) {
            return fail(errc::truncated, "the elements take {} bytes from byte {} on of {}, which has {}",
                        {made.bytes, there.offset, in_quotes(there.name.data()), sibling->size});
        }
        made.offset = sibling->begin + there.offset;
        return {};
    }

    const foreign_file& file_;
    std::shared_ptr<hdf5_file> content_;
    foreign_index& index_;
    assembled_source& all_;
    uint64_t begin_;
    sibling_files siblings_;
    std::shared_ptr<hdf5_datasets> made_;

    // -- of the walk

    vector<named_link> pending_; ///< hard links; the last is next
    vector<named_link> soft_;
    std::unordered_map<hdf5_address, size_t, hdf5_address::hash> known_;
    uint64_t link_count_ = 0;

    // -- of the objects

    vector<entry> entries_;
    std::unordered_set<string> file_keys_;
    string dtype_word_; ///< of the dataset at hand; the .h5 files of Keras have nothing else that is opaque
    bool is_of_keras_ = false;
    vector<string> names_;
    cbor_encoder value_;
};

/// Errors: header_malformed for what libhdf5 refuses; those of the archive; limit_exceeded, manifest_too_large,
/// shape_overflow, truncated; what the source says.
ZTENSOR_COLD inline result<imported> import_hdf5(const foreign_file& file) {
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes());
    foreign_index index;
    ZTENSOR_TRY_ASSIGN(hdf5_place place, find_hdf5(file, *all, index));
    ZTENSOR_TRY_ASSIGN(std::shared_ptr<hdf5_file> content, hdf5_file::open(place.source));
    hdf5_importer_run run(file, std::move(content), index, *all, place.begin);
    ZTENSOR_TRY(run.walk());
    return finish_import(container_kind::hdf5, index, std::move(all), file.options);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
