// SPDX-License-Identifier: MIT
//
// NumPy's arrays and archives.
#ifndef ZTENSOR_DETAIL_IMPORT_NPY_HPP
#define ZTENSOR_DETAIL_IMPORT_NPY_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/npy_header.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/import/strided.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- npy
//
// NumPy's files: one array in .npy, called as the file is, and an archive of several in .npz, called as their entries.

/// The header of the .npy file of `size` bytes of which `read(destination)` gives the first. Of an array of no numbers
/// the rest is not looked at. Errors: as its parts; truncated; unclaimed_bytes.
template <class ReadStart>
result<npy_header> read_npy_header(string_view array, uint64_t size, bool may_have_more, const ReadStart& read) {
    std::array<byte, npy_preamble_bytes> start = {};
    const span<byte> there(start.data(), static_cast<size_t>((std::min<uint64_t>)(size, start.size())));
    ZTENSOR_TRY(read(there));
    ZTENSOR_TRY_ASSIGN(const npy_preamble preamble, read_npy_preamble(there));
    const uint64_t data_begin = preamble.header_begin + preamble.header_bytes;
    if (data_begin > size) {
        return fail(errc::truncated, "the header of the .npy file ends at byte {}, but there are {}",
                    {data_begin, size});
    }
    byte_buffer head;
    ZTENSOR_TRY(allocate(head, data_begin, "a header"));
    ZTENSOR_TRY(read(head.writable_bytes()));
    const string_view text = as_text(head.bytes()).substr(static_cast<size_t>(preamble.header_begin));
    ZTENSOR_TRY_ASSIGN(npy_header header, npy_header_parser(text, array).parse());
    header.data_begin = data_begin;
    const uint64_t there_bytes = size - data_begin;
    if (header.element.is_readable() && header.data_bytes > there_bytes) {
        return fail(errc::truncated, "the array takes {} bytes, but {} follow its header",
                    {header.data_bytes, there_bytes});
    }
    if (header.element.is_readable() && header.data_bytes != there_bytes && !may_have_more) {
        return fail(errc::unclaimed_bytes, "{} bytes follow the array", {there_bytes - header.data_bytes});
    }
    return header;
}

/// Enters an array whose elements lie at `offset` of `all`. Where these are bytes without a meaning, there is one
/// dimension more if each has several, and an attribute says how NumPy calls them.
ZTENSOR_COLD inline result<foreign_component> enter_npy(foreign_index& index, assembled_source& all, string_view name,
                                                        const npy_header& header, uint64_t offset, string_view digest) {
    const npy_type* const type = header.element.type;
    foreign_component data;
    data.dtype = type != nullptr ? type->dtype : string_view("u8");
    data.type = type != nullptr ? type->type : string_view();
    data.offset = offset;
    data.length = header.data_bytes;
    data.digest = digest;
    data.is_big_endian = header.element.is_big_endian;
    if (header.is_transposed()) {
        strided_shape lies;
        lies.sizes.assign(header.dimensions.begin(), header.dimensions.end());
        lies.use_fortran_order();
        ZTENSOR_TRY_ASSIGN(
            data.offset, all.add(std::make_unique<strided_elements>(all, offset, std::move(lies),
                                                                    static_cast<size_t>(header.element_bytes()), false),
                                 data.length));
    }
    if (type != nullptr) {
        index.add(name, header.dimensions, data);
        return data;
    }
    shape dimensions = header.dimensions;
    if (header.element.raw_bytes != 1) {
        if (dimensions.rank() == max_rank) {
            return fail(errc::limit_exceeded, "the shape has more than 64 dimensions");
        }
        dimensions.push_back(header.element.raw_bytes);
    }
    attributes of_array;
    of_array.set("numpy.descr", header.descr);
    index.add(name, dimensions, "dense", {&data, 1}, &of_array);
    return data;
}

/// Of a path: its last part without the ending, as the one array is called.
[[nodiscard]] ZTENSOR_COLD inline string stem_of(string_view path) {
    const size_t folder = path.find_last_of("/\\");
    const string_view name = folder == std::string_view::npos ? path : path.substr(folder + 1);
    const size_t dot = name.rfind('.');
    const string_view stem = dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
    return string(stem.empty() || !is_utf8(stem) ? string_view("array") : stem);
}

/// Errors: those of the header, unknown_dtype, truncated, unclaimed_bytes.
ZTENSOR_COLD inline result<imported> import_npy(const foreign_file& file) {
    const byte_source& source = *file.source;
    const string name = stem_of(path_text(file.path));
    ZTENSOR_TRY_ASSIGN(const npy_header header,
                       read_npy_header(name, source.size(), file.options.allow_unclaimed_bytes(),
                                       [&](span<byte> destination) { return source.read_at(0, destination); }));
    if (!header.element.is_readable()) {
        return header.why_not();
    }
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes());
    foreign_index index;
    ZTENSOR_TRY(enter_npy(index, *all, name, header, header.data_begin, {}));
    return finish_import(container_kind::npy, index, std::move(all), file.options);
}

/// What the array of an entry is called that has the name of one; else "".
[[nodiscard]] inline string_view npy_entry_name(const zip_entry& entry) noexcept {
    return between(entry.name, "", ".npy").value_or(string_view());
}

/// Whether an entry is an array, by its name or, as NumPy has it, by how it starts.
[[nodiscard]] ZTENSOR_COLD inline bool is_npy_entry(const byte_source& archive, const zip_entry& entry) {
    if (!npy_entry_name(entry).empty()) {
        return true;
    }
    std::array<byte, npy_magic.size()> start = {};
    return entry.size >= start.size() && read_start(archive, entry, start) && as_text(start) == npy_magic;
}

/// Bytes that are no array.
ZTENSOR_COLD inline result<void> import_npz_bytes(const zip_entry& entry, foreign_index& index, assembled_source& all) {
    ZTENSOR_TRY_ASSIGN(const uint64_t content, place_content(all, entry));
    const string digest = digest_text_of(entry);
    const uint64_t dimensions[] = {entry.size};
    foreign_component bytes;
    bytes.dtype = "u8";
    bytes.offset = content;
    bytes.length = entry.size;
    bytes.digest = digest;
    index.add(entry.name, dimensions, bytes);
    return {};
}

/// An array, or that it was skipped.
ZTENSOR_COLD inline result<void> import_npz_array(const foreign_file& file, const zip_entry& entry,
                                                  foreign_index& index, assembled_source& all,
                                                  vector<digest_cover>& covers) {
    const string_view stem = npy_entry_name(entry);
    const string_view name = stem.empty() ? entry.name : stem;
    const result<npy_header> header = read_npy_header(
        name, entry.size, false, [&](span<byte> start) { return read_start(*file.source, entry, start); });
    if (!header && header.error().code() != errc::limit_exceeded) {
        return header.error();
    }
    if (!header || !header->element.is_readable()) {
        index.skip(name, "", string((header ? header->why_not() : header.error()).sentence()));
        return {};
    }
    ZTENSOR_TRY_ASSIGN(const uint64_t content, place_content(all, entry));
    const auto front_bytes = static_cast<size_t>(header->data_begin);
    // A transposed array is never looked at where it lies.
    ZTENSOR_TRY_ASSIGN(const uint64_t elements, header->is_transposed() ? make_content(all, entry, front_bytes)
                                                                        : place_content(all, entry, front_bytes));
    const string digest = digest_text_of(entry);
    ZTENSOR_TRY_ASSIGN(const foreign_component data, enter_npy(index, all, name, *header, elements, digest));
    covers.push_back({data.offset, data.length, content, entry.size});
    return {};
}

// -- zip kinds
//
// ZIP archives that are neither NumPy's nor PyTorch's: what they are, told by the names of their entries.

struct zip_kind {
    string_view mark; ///< an entry's path, or the end of one behind a slash if it starts with "*/"
    const char* what;
};

inline constexpr zip_kind zip_kinds[] = {
    {"model.weights.h5", "a Keras archive (.keras), whose weights are in the HDF5 file \"model.weights.h5\" in it"},
    {"model.weights.npz", "a Keras archive (.keras): unpack it, and open the \"model.weights.npz\" in it"},
    {"*/.data/extern_modules",
     "a package of torch.package: load it by torch.package.PackageImporter, and save its state dict by torch.save"},
    {"*/archive_format", "an archive of PyTorch (.pt2) without weights, of torch.export or AOTInductor: save the state "
                         "dict of the model by torch.save"},
    {"serialized_exported_program.json",
     "an archive of torch.export (.pt2) without weights: save its state dict by torch.save"},
    {"MAR-INF/MANIFEST.json", "a model archive of TorchServe (.mar): unpack it, and open the model in it"},
    {"[Content_Types].xml", "a document of Office Open XML (.docx, .xlsx, .pptx) or a package of NuGet"},
    {"mimetype", "a document of OpenDocument or EPUB"},
    {"AndroidManifest.xml", "an Android package (.apk)"},
    {"META-INF/MANIFEST.MF", "a Java archive (.jar)"},
    {"EGG-INFO/PKG-INFO", "a Python egg"},
    {"*/WHEEL", "a Python wheel (.whl): unpack it, and open the files of tensors in it"},
    {"*/saved_model.pb", "a SavedModel of TensorFlow"},
    {"saved_model.pb", "a SavedModel of TensorFlow"},
    {"*/.zarray", "a store of Zarr"},
    {".zgroup", "a store of Zarr"},
    {"*/zarr.json", "a store of Zarr"},
    {"zarr.json", "a store of Zarr"},
};

[[nodiscard]] inline bool is_mark(string_view mark, string_view name) noexcept {
    const string_view end = mark.substr(1);
    return mark[0] == '*' ? name.size() > end.size() && ends_with(name, end) : name == mark;
}

/// What the archive is, the first of the kinds that an entry tells; null if none does.
[[nodiscard]] ZTENSOR_COLD inline const char* zip_kind_of(const zip_directory& directory) noexcept {
    for (const zip_kind& kind : zip_kinds) { // a wheel may hold a SavedModel
        for (const zip_entry& each : directory.entries()) {
            if (is_mark(kind.mark, each.name)) {
                return kind.what;
            }
        }
    }
    return nullptr;
}

/// An archive without arrays, that has entries.
[[nodiscard]] ZTENSOR_COLD inline error unknown_zip(const zip_directory& directory) {
    constexpr size_t most_told = 3;
    string names;
    const size_t count = directory.entries().size();
    for (size_t i = 0; i < (std::min)(count, most_told); ++i) {
        names += i == 0 ? "" : ", ";
        names += quote(directory.entries()[i].name);
    }
    return fail(
        errc::foreign_file,
        "a ZIP archive without any array (.npy) or checkpoint of PyTorch in it: it holds {}{}. Tensors in files "
        "of it can be read when it is unpacked",
        {names, count > most_told ? ", ..." : ""});
}

/// Errors: foreign_file if the archive is of another kind; those of the headers of its entries.
ZTENSOR_COLD inline result<imported> import_npz(const foreign_file& file, const zip_directory& directory) {
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes());
    foreign_index index;
    vector<digest_cover> covers;
    bool has_array = false, has_bytes = false;
    if (const char* const kind = zip_kind_of(directory)) {
        return fail(errc::foreign_file, "not an .npz file but {}", {kind});
    }
    for (const zip_entry& each : directory.entries()) {
        if (each.name.back() == '/' && each.size == 0) {
            continue; // a folder
        }
        if (is_of_macos(each.name)) {
            index.skip(each.name, "", "macOS keeps in it what belongs to another file");
            continue;
        }
        const bool is_array = is_npy_entry(*file.source, each);
        (is_array ? has_array : has_bytes) = true;
        ZTENSOR_TRY(in_object(is_array ? import_npz_array(file, each, index, *all, covers)
                                       : import_npz_bytes(each, index, *all),
                              each.name));
    }
    if (has_bytes && !has_array) {
        return unknown_zip(directory);
    }
    ZTENSOR_TRY_ASSIGN(imported made, finish_import(container_kind::npz, index, std::move(all), file.options));
    made.digest_covers = std::move(covers);
    return made;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
