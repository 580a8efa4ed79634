// SPDX-License-Identifier: MIT
//
// HDF5: a source of the elements of datasets that do not lie in their file as they are: chunked, compressed, stored in
// the header, or of odd types. libhdf5 reads the part of them that is asked for, one call at a time.
#ifndef ZTENSOR_DETAIL_HDF5_DATASETS_HPP
#define ZTENSOR_DETAIL_HDF5_DATASETS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A dataset that is read through libhdf5.
struct hdf5_dataset {
    string path;
    vector<uint64_t> dimensions; ///< without those within an element
    uint64_t element_bytes = 0;
    uint64_t bytes = 0;       ///< of all elements
    uint64_t kept_bytes = 0;  ///< of chunks, for who reads piece by piece; 0 without chunks
    string_view converted_to; ///< a storage type; "" to read the elements as they are
};

inline constexpr uint64_t most_kept_hdf5_bytes = uint64_t{64} << 20; ///< of chunks; but one may be larger

/// Bytes of the chunks that a reader in the order of the elements needs at the same time: those of one row of them, or
/// of a part of it. 0 for a dataset without chunks.
[[nodiscard]] inline uint64_t hdf5_chunk_bytes_to_keep(hid_t properties, span<const uint64_t> dimensions,
                                                       uint64_t element_bytes) noexcept {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    if (::H5Pget_layout(properties) != H5D_CHUNKED) {
        return 0;
    }
    const int rank = ::H5Pget_chunk(properties, H5S_MAX_RANK, chunk.data());
    if (rank <= 0 || static_cast<size_t>(rank) != dimensions.size()) {
        return 0;
    }
    const auto multiply = [](uint64_t a, uint64_t b) { return checked_multiply(a, b).value_or(~uint64_t{0}); };
    uint64_t of_chunk = element_bytes, of_row = element_bytes;
    for (size_t i = 0; i < dimensions.size(); ++i) {
        const uint64_t length = (std::max<hsize_t>)(chunk[i], 1);
        of_chunk = multiply(of_chunk, length);
        of_row =
            multiply(multiply(of_row, length), i == 0 ? 1 : dimensions[i] / length + (dimensions[i] % length != 0));
    }
    constexpr uint64_t most_bytes_of_chunk = (uint64_t{1} << 32) - 1; // of libhdf5
    return (std::max)((std::min)(of_chunk, most_bytes_of_chunk), (std::min)(of_row, most_kept_hdf5_bytes));
}

/// The elements of all such datasets of a file, one after the other. Filled by one thread, then never changed.
class hdf5_datasets final : public byte_source {
public:
    hdf5_datasets(std::shared_ptr<hdf5_file> file, uint64_t max_decoded_bytes) noexcept
        : file_(std::move(file)), max_decoded_bytes_(max_decoded_bytes) {}
    ~hdf5_datasets() override {
        const hdf5_session session;
        open_.clear();
    }

    /// Where its elements are. Nothing if 64 bits can't count all.
    [[nodiscard]] optional<uint64_t> add(hdf5_dataset added) {
        const optional<uint64_t> end = checked_add(size_, added.bytes);
        if (!end) {
            return std::nullopt;
        }
        begins_.push_back(size_);
        datasets_.push_back(std::move(added));
        return std::exchange(size_, *end);
    }

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), size_));
        return guard_memory([&] { return read(offset, destination); });
    }

private:
    /// One that was read last stays open, with the chunks that libhdf5 keeps of it.
    struct opened {
        size_t number = 0;
        hdf5_id id, space, type;
    };
    static constexpr size_t most_open = 4;

    result<void> read(uint64_t offset, span<byte> destination) const {
        const auto behind = std::upper_bound(begins_.begin(), begins_.end(), offset);
        for (auto i = static_cast<size_t>(behind - begins_.begin()) - 1; !destination.empty(); ++i) {
            const hdf5_dataset& from = datasets_[i];
            const uint64_t at = offset - begins_[i];
            const auto count = static_cast<size_t>((std::min<uint64_t>)(from.bytes - at, destination.size()));
            if (count != 0) {
                ZTENSOR_TRY(read_bytes(i, at, destination.first(count)));
            }
            offset += count;
            destination = destination.subspan(count);
        }
        return {};
    }

    /// Any bytes of a dataset: whole elements straight into their place, parts of one by way of a copy.
    result<void> read_bytes(size_t number, uint64_t at, span<byte> destination) const {
        const hdf5_dataset& from = datasets_[number];
        if (from.bytes > max_decoded_bytes_) {
            return fail(errc::limit_exceeded,
                        "the component takes {} bytes, more than the {} of read_options::max_decoded_bytes",
                        {from.bytes, max_decoded_bytes_});
        }
        const hdf5_session session;
        ZTENSOR_TRY(session.check());
        ZTENSOR_TRY_ASSIGN(const opened* dataset, find_open(number));
        const uint64_t width = from.element_bytes;
        vector<byte> element;
        while (!destination.empty()) {
            const auto skipped = static_cast<size_t>(at % width);
            const bool is_whole = skipped == 0 && destination.size() >= width;
            const uint64_t whole = is_whole ? destination.size() / width * width : width;
            element.resize(static_cast<size_t>(is_whole ? 0 : width));
            const span<byte> target = is_whole ? destination.first(static_cast<size_t>(whole)) : span<byte>(element);
            ZTENSOR_TRY(read_elements(*dataset, from, at / width, target));
            const size_t taken =
                is_whole ? static_cast<size_t>(whole) : (std::min)(element.size() - skipped, destination.size());
            if (!is_whole) {
                std::memcpy(destination.data(), element.data() + skipped, taken);
            }
            at += taken;
            destination = destination.subspan(taken);
        }
        return {};
    }

    /// Whole elements from one on, as few boxes as there are in that range.
    result<void> read_elements(const opened& dataset, const hdf5_dataset& from, uint64_t first,
                               span<byte> destination) const {
        while (!destination.empty()) {
            const uint64_t wanted = destination.size() / from.element_bytes;
            const uint64_t count = select_box(dataset, from, first, wanted);
            const hdf5_id memory(count != 0 ? create_row(count) : hid_t{-1}, &H5Sclose);
            const auto bytes = static_cast<size_t>(count * from.element_bytes);
            if (!memory || ::H5Dread(dataset.id.get(), dataset.type.get(), memory.get(), dataset.space.get(),
                                     H5P_DEFAULT, destination.data()) < 0) {
                return file_->failure("read a dataset");
            }
            first += count;
            destination = destination.subspan(bytes);
        }
        return {};
    }

    [[nodiscard]] static hid_t create_row(uint64_t count) noexcept {
        const hsize_t dimensions[] = {count};
        return ::H5Screate_simple(1, dimensions, nullptr);
    }

    /// Selects the largest box of at most `wanted` elements that starts with element `first` and lies in one row of the
    /// file's order; the number of its elements, or 0 where libhdf5 fails.
    [[nodiscard]] static uint64_t select_box(const opened& dataset, const hdf5_dataset& from, uint64_t first,
                                             uint64_t wanted) noexcept {
        const size_t rank = from.dimensions.size();
        if (rank == 0) {
            return ::H5Sselect_all(dataset.space.get()) >= 0 ? 1 : 0;
        }
        std::array<hsize_t, H5S_MAX_RANK> start{}, count{};
        uint64_t below = 1; // elements of one step in the dimension that is looked at
        uint64_t selected = 0;
        for (size_t i = rank; i-- != 0;) {
            const uint64_t dimension = from.dimensions[i];
            start[i] = first / below % dimension;
            count[i] = 1;
            if (first % below == 0 && wanted >= below) {
                const uint64_t steps = (std::min<uint64_t>)(wanted / below, dimension - start[i]);
                std::copy_n(from.dimensions.begin() + static_cast<std::ptrdiff_t>(i) + 1, rank - i - 1,
                            count.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                count[i] = steps;
                selected = steps * below;
            }
            below *= dimension;
        }
        const herr_t done =
            ::H5Sselect_hyperslab(dataset.space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
        return done >= 0 ? selected : 0;
    }

    result<const opened*> find_open(size_t number) const {
        const auto known = std::find_if(open_.begin(), open_.end(),
                                        [&](const std::unique_ptr<opened>& each) { return each->number == number; });
        if (known != open_.end()) {
            std::rotate(open_.begin(), known, known + 1);
            return open_.front().get();
        }
        auto added = std::make_unique<opened>();
        ZTENSOR_TRY(open(number, *added));
        open_.insert(open_.begin(), std::move(added));
        uint64_t kept = 0;
        size_t stay = 0;
        while (stay < open_.size() && stay < most_open) {
            kept += datasets_[open_[stay]->number].kept_bytes;
            if (stay != 0 && kept > most_kept_hdf5_bytes) {
                break;
            }
            ++stay;
        }
        open_.resize(stay);
        return open_.front().get();
    }

    result<void> open(size_t number, opened& added) const {
        constexpr size_t slots = 12421; // a prime, some times as many as there are chunks at once
        const hdf5_dataset& from = datasets_[number];
        const hdf5_id access(::H5Pcreate(H5P_DATASET_ACCESS), &H5Pclose);
        if (!access ||
            (from.kept_bytes != 0 && ::H5Pset_chunk_cache(access.get(), slots, static_cast<size_t>(from.kept_bytes),
                                                          H5D_CHUNK_CACHE_W0_DEFAULT) < 0)) {
            return file_->failure("prepare to open a dataset");
        }
        added.number = number;
        added.id = hdf5_id(::H5Dopen2(file_->id(), from.path.c_str(), access.get()), &H5Dclose);
        if (!added.id) {
            return file_->failure("open a dataset");
        }
        added.space = hdf5_id(::H5Dget_space(added.id.get()), &H5Sclose);
        added.type = from.converted_to.empty() ? hdf5_id(::H5Dget_type(added.id.get()), &H5Tclose)
                                               : hdf5_id(::H5Tcopy(little_endian_type(from.converted_to)), &H5Tclose);
        if (!added.space || !added.type) {
            return file_->failure("read what a dataset is");
        }
        return has_shape(added.space.get(), from)
                   ? result<void>()
                   : fail(errc::file_changed, "the shape of a dataset is not what it was when the file was opened");
    }

    /// The same as when the file was opened.
    [[nodiscard]] static bool has_shape(hid_t space, const hdf5_dataset& from) noexcept {
        std::array<hsize_t, H5S_MAX_RANK> dimensions{};
        const int rank = ::H5Sget_simple_extent_dims(space, dimensions.data(), nullptr);
        return rank >= 0 && static_cast<size_t>(rank) == from.dimensions.size() &&
               std::equal(from.dimensions.begin(), from.dimensions.end(), dimensions.begin());
    }

    [[nodiscard]] static hid_t little_endian_type(string_view dtype) noexcept {
        return dtype == "i8"    ? H5T_STD_I8LE
               : dtype == "i16" ? H5T_STD_I16LE
               : dtype == "i32" ? H5T_STD_I32LE
               : dtype == "i64" ? H5T_STD_I64LE
               : dtype == "u8"  ? H5T_STD_U8LE
               : dtype == "u16" ? H5T_STD_U16LE
               : dtype == "u32" ? H5T_STD_U32LE
                                : H5T_STD_U64LE;
    }

    std::shared_ptr<hdf5_file> file_;
    uint64_t max_decoded_bytes_;
    uint64_t size_ = 0;
    vector<uint64_t> begins_;
    vector<hdf5_dataset> datasets_;
    mutable vector<std::unique_ptr<opened>> open_; ///< from the newest on; used within a session
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
