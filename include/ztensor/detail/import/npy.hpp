// SPDX-License-Identifier: MIT
//
// NumPy's arrays and archives.
#ifndef ZTENSOR_DETAIL_IMPORT_NPY_HPP
#define ZTENSOR_DETAIL_IMPORT_NPY_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/foreign_index.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/npy_header.hpp>
#include <ztensor/detail/import/sniff.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/import/zip_content.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- transposed
//
// Elements that lie first dimension fastest, as Fortran has them, put in the order of everything else: made when they
// are read.

class transposed_elements final : public made_bytes {
public:
    /// They are at `offset` of `source`; their number was found to fit 64 bits, and none of the dimensions, of which
    /// there are at least two, is 0.
    transposed_elements(const byte_source& source, std::uint64_t offset, const shape& dimensions,
                        std::size_t element_bytes, std::uint64_t max_bytes)
        : source_(source), offset_(offset), dimensions_(dimensions), element_bytes_(element_bytes),
          max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        byte_buffer stored;
        if (destination.size() > max_bytes_ / 2) { // once as they lie, once as they are wanted
            return fail(
                errc::limit_exceeded,
                "to transpose {} bytes takes twice as many, more than the {} of read_options::max_decoded_bytes",
                {destination.size(), max_bytes_});
        }
        if (!stored.allocate(destination.size())) {
            return fail(errc::out_of_memory, "no memory to transpose {} bytes", {destination.size()});
        }
        ZTENSOR_TRY(source_.read_at(offset_, stored.writable_bytes()));
        switch (element_bytes_) { // the common widths are known when this is compiled
        case 1:
            transpose(width_of<1>(), stored.data(), destination.data());
            break;
        case 2:
            transpose(width_of<2>(), stored.data(), destination.data());
            break;
        case 4:
            transpose(width_of<4>(), stored.data(), destination.data());
            break;
        case 8:
            transpose(width_of<8>(), stored.data(), destination.data());
            break;
        case 16:
            transpose(width_of<16>(), stored.data(), destination.data());
            break;
        default:
            transpose(element_bytes_, stored.data(), destination.data());
        }
        return {};
    }

private:
    template <std::size_t Bytes>
    using width_of = std::integral_constant<std::size_t, Bytes>;

    /// For each index of the dimensions in between, one matrix of the first and the last.
    template <class Width>
    void transpose(Width width, const std::byte* from, std::byte* to) const noexcept {
        const std::size_t rank = dimensions_.rank();
        const auto rows = static_cast<std::size_t>(dimensions_[0]);
        const auto columns = static_cast<std::size_t>(dimensions_[rank - 1]);
        std::size_t between = 1; // elements of all dimensions but the first and the last
        for (std::size_t i = 1; i + 1 < rank; ++i) {
            between *= static_cast<std::size_t>(dimensions_[i]);
        }
        for (std::size_t at = 0; at < between; ++at) { // in the order of what is made
            std::size_t there = 0, stride = 1, left = at, size = between;
            for (std::size_t i = 1; i + 1 < rank; ++i) {
                size /= static_cast<std::size_t>(dimensions_[i]);
                there += left / size * stride;
                left %= size;
                stride *= static_cast<std::size_t>(dimensions_[i]);
            }
            transpose_matrix(width, from + there * rows * width, to + at * columns * width, rows, columns,
                             rows * between, between * columns);
        }
    }

    /// In squares that fit the first-level cache. Strides are in elements.
    template <class Width>
    static void transpose_matrix(Width width, const std::byte* from, std::byte* to, std::size_t rows,
                                 std::size_t columns, std::size_t stride_from, std::size_t stride_to) noexcept {
        constexpr std::size_t side = 32;
        for (std::size_t row = 0; row < rows; row += side) {
            const std::size_t last_row = (std::min)(rows, row + side);
            for (std::size_t column = 0; column < columns; column += side) {
                const std::size_t last_column = (std::min)(columns, column + side);
                for (std::size_t i = row; i < last_row; ++i) {
                    for (std::size_t j = column; j < last_column; ++j) {
                        std::memcpy(to + (i * stride_to + j) * width, from + (i + j * stride_from) * width, width);
                    }
                }
            }
        }
    }

    const byte_source& source_;
    std::uint64_t offset_;
    shape dimensions_;
    std::size_t element_bytes_;
    std::uint64_t max_bytes_;
};

// -- npy
//
// NumPy's files: one array in .npy, called as the file is, and an archive of several in .npz, called as their entries.

/// The header of the .npy file of `size` bytes of which `read(destination)` gives the first. Of an array of no numbers
/// the rest is not looked at. Errors: as its parts; truncated; unclaimed_bytes.
template <class ReadStart>
[[nodiscard]] result<npy_header> read_npy_header(std::string_view array, std::uint64_t size, bool may_have_more,
                                                 const ReadStart& read) {
    std::array<std::byte, npy_preamble_bytes> start = {};
    const span<std::byte> there(start.data(), static_cast<std::size_t>((std::min<std::uint64_t>)(size, start.size())));
    ZTENSOR_TRY(read(there));
    ZTENSOR_TRY_ASSIGN(const npy_preamble preamble, read_npy_preamble(there));
    const std::uint64_t data_begin = preamble.header_begin + preamble.header_bytes;
    if (data_begin > size) {
        return fail(errc::truncated, "the header of the .npy file ends at byte {}, but there are {}",
                    {data_begin, size});
    }
    byte_buffer head;
    if (!head.allocate(static_cast<std::size_t>(data_begin))) {
        return fail(errc::out_of_memory, "no memory for a header of {} bytes", {data_begin});
    }
    ZTENSOR_TRY(read(head.writable_bytes()));
    const std::string_view text = as_text(head.bytes()).substr(static_cast<std::size_t>(preamble.header_begin));
    result<npy_header> header = npy_header_parser(text, array).parse();
    if (!header) {
        return header;
    }
    header->data_begin = data_begin;
    if (!header->element.is_readable()) {
        return header;
    }
    if (header->data_bytes > size - data_begin) {
        return fail(errc::truncated, "the array takes {} bytes, but {} follow its header",
                    {header->data_bytes, size - data_begin});
    }
    if (header->data_bytes != size - data_begin && !may_have_more) {
        return fail(errc::unclaimed_bytes, "{} bytes follow the array", {size - data_begin - header->data_bytes});
    }
    return header;
}

/// Enters an array whose elements lie at `offset` of `all`. Where these are bytes without a meaning, there is one
/// dimension more if each has several, and an attribute says how NumPy calls them.
[[nodiscard]] ZTENSOR_COLD inline result<foreign_component> enter_npy(foreign_index& index, assembled_source& all,
                                                                      std::string_view name, const npy_header& header,
                                                                      std::uint64_t offset, std::string_view digest) {
    const npy_type* const type = header.element.type;
    foreign_component data;
    data.dtype = type != nullptr ? type->dtype : std::string_view("u8");
    data.type = type != nullptr ? type->type : std::string_view();
    data.offset = offset;
    data.length = header.data_bytes;
    data.digest = digest;
    data.is_big_endian = header.element.is_big_endian;
    if (header.is_transposed()) {
        const auto width = static_cast<std::size_t>(header.element_bytes());
        ZTENSOR_TRY_ASSIGN(
            const std::uint64_t made,
            all.add(std::make_unique<transposed_elements>(all, offset, header.dimensions, width, all.max_made_bytes()),
                    data.length));
        data.offset = made;
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

[[nodiscard]] ZTENSOR_COLD inline result<imported> finish_npy(const foreign_file& file, container_kind kind,
                                                              const foreign_index& index,
                                                              std::shared_ptr<const byte_source> all) {
    ZTENSOR_TRY_ASSIGN(byte_buffer encoded, index.finish(file.options.max_manifest_bytes_));
    imported made;
    made.kind = kind;
    made.source = std::move(all);
    made.index = std::move(encoded);
    return made;
}

/// Of a path: its last part without the ending, as the one array is called.
[[nodiscard]] ZTENSOR_COLD inline std::string stem_of(std::string_view path) {
    const std::size_t folder = path.find_last_of("/\\");
    const std::string_view name = folder == std::string_view::npos ? path : path.substr(folder + 1);
    const std::size_t dot = name.rfind('.');
    const std::string_view stem = dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
    return std::string(stem.empty() || !is_utf8(stem) ? std::string_view("array") : stem);
}

/// Errors: those of the header, unknown_dtype, truncated, unclaimed_bytes.
[[nodiscard]] ZTENSOR_COLD inline result<imported> import_npy(const foreign_file& file) {
    const byte_source& source = *file.source;
    const std::string name = stem_of(path_text(file.path));
    const result<npy_header> header =
        read_npy_header(name, source.size(), file.options.allow_unclaimed_bytes_,
                        [&](span<std::byte> destination) { return source.read_at(0, destination); });
    if (!header) {
        return header.error();
    }
    if (!header->element.is_readable()) {
        return header->why_not();
    }
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_);
    foreign_index index;
    const result<foreign_component> data = enter_npy(index, *all, name, *header, header->data_begin, {});
    return data ? finish_npy(file, container_kind::npy, index, std::move(all)) : data.error();
}

/// What the array of an entry is called that has the name of one; else "".
[[nodiscard]] inline std::string_view npy_entry_name(const zip_entry& entry) noexcept {
    constexpr std::string_view ending = ".npy";
    const std::size_t size = entry.name.size() - (std::min)(entry.name.size(), ending.size());
    return entry.name.substr(size) == ending ? entry.name.substr(0, size) : std::string_view();
}

/// Whether an entry is an array, by its name or, as NumPy has it, by how it starts.
[[nodiscard]] ZTENSOR_COLD inline bool is_npy_entry(const byte_source& archive, const zip_entry& entry) {
    if (!npy_entry_name(entry).empty()) {
        return true;
    }
    std::array<std::byte, npy_magic.size()> start = {};
    return entry.size >= start.size() && read_start(archive, entry, start) && as_text(start) == npy_magic;
}

/// Bytes that are no array.
[[nodiscard]] ZTENSOR_COLD inline result<void> import_npz_bytes(const zip_entry& entry, foreign_index& index,
                                                                assembled_source& all) {
    ZTENSOR_TRY_ASSIGN(const std::uint64_t content, place_content(all, entry));
    const std::string digest = digest_text_of(entry);
    const std::uint64_t dimensions[] = {entry.size};
    foreign_component bytes;
    bytes.dtype = "u8";
    bytes.offset = content;
    bytes.length = entry.size;
    bytes.digest = digest;
    index.add(entry.name, dimensions, bytes);
    return {};
}

/// An array, or that it was skipped.
[[nodiscard]] ZTENSOR_COLD inline result<void> import_npz_array(const foreign_file& file, const zip_entry& entry,
                                                                foreign_index& index, assembled_source& all,
                                                                std::vector<digest_cover>& covers) {
    const std::string_view stem = npy_entry_name(entry);
    const std::string_view name = stem.empty() ? entry.name : stem;
    const result<npy_header> header = read_npy_header(
        name, entry.size, false, [&](span<std::byte> start) { return read_start(*file.source, entry, start); });
    if (!header && header.error().code() != errc::limit_exceeded) {
        return header.error();
    }
    if (!header || !header->element.is_readable()) {
        index.skip(name, "", std::string((header ? header->why_not() : header.error()).sentence()));
        return {};
    }
    ZTENSOR_TRY_ASSIGN(const std::uint64_t content, place_content(all, entry));
    const auto front_bytes = static_cast<std::size_t>(header->data_begin);
    // A transposed array is never looked at where it lies.
    ZTENSOR_TRY_ASSIGN(const std::uint64_t elements, header->is_transposed() ? make_content(all, entry, front_bytes)
                                                                             : place_content(all, entry, front_bytes));
    const std::string digest = digest_text_of(entry);
    ZTENSOR_TRY_ASSIGN(const foreign_component data, enter_npy(index, all, name, *header, elements, digest));
    covers.push_back({data.offset, data.length, content, entry.size});
    return {};
}

/// Errors: foreign_file if the archive is of another kind; those of the headers of its entries.
[[nodiscard]] ZTENSOR_COLD inline result<imported> import_npz(const foreign_file& file,
                                                              const zip_directory& directory) {
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_);
    foreign_index index;
    std::vector<digest_cover> covers;
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
        result<void> entered =
            is_array ? import_npz_array(file, each, index, *all, covers) : import_npz_bytes(each, index, *all);
        if (!entered) {
            return std::move(entered).error().in_object(each.name);
        }
    }
    if (has_bytes && !has_array) {
        return unknown_zip(directory);
    }
    result<imported> made = finish_npy(file, container_kind::npz, index, std::move(all));
    if (made) {
        made->digest_covers = std::move(covers);
        made->skipped = index.take_skipped();
    }
    return made;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
