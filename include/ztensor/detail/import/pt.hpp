// SPDX-License-Identifier: MIT
//
// PyTorch's checkpoints: archives, files of before 1.6, and those of before 0.2.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_machine.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt_tensors.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of records that are sorted by a member, the first with that value; null if there is none.
template <class Record, class Member>
[[nodiscard]] Record* find_sorted(vector<Record>& all, Member Record::*member, const Member& value) noexcept {
    const auto found =
        std::lower_bound(all.begin(), all.end(), value,
                         [member](const Record& each, const Member& wanted) { return each.*member < wanted; });
    return found != all.end() && (*found).*member == value ? &*found : nullptr;
}
template <class Record, class Member>
void sort_by(vector<Record>& all, Member Record::*member) {
    std::sort(all.begin(), all.end(), [member](const Record& a, const Record& b) { return a.*member < b.*member; });
}

/// Positions in a pickle have 32 bits.
[[nodiscard]] inline uint64_t most_pickle_bytes(const read_options& options) noexcept {
    constexpr uint64_t most_bytes = uint64_t{1} << 30;
    return (std::min)(most_bytes, options.max_manifest_bytes());
}

// -- pt entries
//
// The entries of a ZIP archive that PyTorch wrote, and the storages among them.

struct pt_entry {
    string_view name;               ///< in the folder
    zip_entry entry;                ///< its offset counts in the whole file
    optional<uint64_t> offset = {}; ///< of its content in the assembled source, once somebody needed it
    bool is_taken = false;          ///< as an archive in the archive, of which there is one for each name
};

/// Those in one folder.
class pt_entries {
public:
    /// `folder` ends in a slash, or is empty. The archive, which outlives this, lies at `archive_offset` of the file.
    pt_entries(assembled_source& all, const zip_directory& archive, string_view folder, uint64_t archive_offset = 0)
        : all_(all) {
        for (const zip_entry& each : archive.entries()) {
            if (each.name.substr(0, folder.size()) == folder) {
                entries_.push_back({each.name.substr(folder.size()), each});
                zip_entry& entry = entries_.back().entry;
                entry.offset += archive_offset;
                entry.is_unchecked = each.crc32 == 0; // as torch.save may write all entries
            }
        }
        sort_by(entries_, &pt_entry::name);
    }

    /// By their name.
    [[nodiscard]] const vector<pt_entry>& all() const noexcept { return entries_; }

    /// Null if there is none.
    [[nodiscard]] pt_entry* find(string_view name) noexcept { return find_sorted(entries_, &pt_entry::name, name); }

    /// Where an entry's content lies in the assembled source. Errors: out_of_bounds.
    result<uint64_t> place(pt_entry& of) {
        if (!of.offset) {
            ZTENSOR_TRY_ASSIGN(of.offset, place_content(all_, of.entry));
        }
        return *of.offset;
    }

    /// All content of a pickle or a text, checked. What is inflated is not bounded by the file, so that both limits
    /// hold for it. Errors: those of read_content().
    result<byte_buffer> read(const pt_entry& of, const read_options& options) const {
        const uint64_t allowed = most_pickle_bytes(options);
        return read_content(all_.file(), of.entry,
                            of.entry.is_deflated ? (std::min)(allowed, options.max_decoded_bytes()) : allowed);
    }

    /// Whether the machine that wrote the archive was big-endian. Archives from before the entry are of a little-endian
    /// machine, as nearly all are. Errors: header_malformed; those of read_content().
    result<bool> is_big_endian() {
        const pt_entry* const stated = find("byteorder");
        if (stated == nullptr) {
            return false;
        }
        constexpr uint64_t most_bytes = 16;
        ZTENSOR_TRY_ASSIGN(const byte_buffer text, read_content(all_.file(), stated->entry, most_bytes));
        const string_view order = as_text(text.bytes());
        return order == "big" || order == "little"
                   ? result<bool>(order == "big")
                   : fail(errc::header_malformed, "the checkpoint's byte order is {}, neither little nor big",
                          {in_quotes(order)});
    }

private:
    assembled_source& all_;
    vector<pt_entry> entries_; ///< by their name
};

/// The storages of one pickle: entries of a folder in the folder.
class pt_entry_storages final : public storage_finder {
public:
    /// `pickle` is the entry of the pickle itself; null where there is none.
    pt_entry_storages(pt_entries& entries, string_view folder, pt_entry* pickle) noexcept
        : entries_(entries), folder_(folder), pickle_(pickle) {}

    result<placed_storage> find(const pickle_storage& storage, string_view key) override {
        pt_entry* const found = entries_.find(string(folder_) + string(key));
        if (found == nullptr) {
            return fail(errc::schema_missing, "the archive has no entry for storage {}", {in_quotes(key)});
        }
        if (found->entry.size != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} has {} bytes, but its entry {}",
                        {in_quotes(key), storage.bytes, found->entry.size});
        }
        ZTENSOR_TRY_ASSIGN(const uint64_t offset, entries_.place(*found));
        return placed_storage{offset, storage.bytes,
                              found->entry.is_unchecked ? string() : digest_text_of(found->entry)};
    }

    result<uint64_t> place_pickle() override { return entries_.place(*pickle_); }

private:
    pt_entries& entries_;
    string_view folder_;
    pt_entry* pickle_;
};

// -- pt
//
// PyTorch checkpoints: a ZIP archive of a pickle that describes tensors, and an entry for each storage they lie in.

/// The folder, with its slash, that a checkpoint's entries lie in; nothing if the archive is none.
[[nodiscard]] inline optional<string_view> find_pt_folder(const zip_directory& entries) noexcept {
    for (const zip_entry& each : entries.entries()) {
        const size_t folder = each.name.find('/') + 1; // 0 where there is no slash
        if (each.name.substr(folder) == "data.pkl") {
            return each.name.substr(0, folder);
        }
    }
    return std::nullopt;
}

/// One pickle of a checkpoint's folder, and the folder of its storages.
inline result<void> add_pt_pickle(pt_import& to, pt_entries& entries, string_view pickle_name, string_view folder,
                                  bool is_big_endian, const pt_names& names) {
    pt_entry* const entry = entries.find(pickle_name);
    ZTENSOR_TRY_ASSIGN(const byte_buffer pickle, entries.read(*entry, to.file.options));
    ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes()).run());
    pt_entry_storages storages(entries, folder, entry);
    return to.add(std::move(content), storages, is_big_endian, names);
}

/// What is in a checkpoint's folder becomes objects: the state; and what the code of TorchScript computes with besides,
/// which in a frozen module are its weights.
inline result<void> add_pt_archive(pt_import& to, pt_entries& entries, const pt_names& names) {
    ZTENSOR_TRY_ASSIGN(const bool is_big_endian, entries.is_big_endian());
    ZTENSOR_TRY(add_pt_pickle(to, entries, "data.pkl", "data/", is_big_endian, names));
    return entries.find("constants.pkl") == nullptr
               ? result<void>()
               : add_pt_pickle(to, entries, "constants.pkl", "constants/", is_big_endian, {"CONSTANTS", "CONSTANTS"});
}

inline result<imported> import_pt(const foreign_file& file, const zip_directory& archive, string_view folder,
                                  const string& stem) {
    pt_import to(file);
    pt_entries entries(*to.all, archive, folder);
    ZTENSOR_TRY(add_pt_archive(to, entries, {stem, string()}));
    return to.objects.finish(std::move(to.all));
}

// -- pt legacy
//
// PyTorch files from before archives: pickles one behind the other, and behind them the storages, each with the number
// of its elements in front.

/// A pickle, and what it holds, which refers to its bytes.
struct carried_out_pickle {
    byte_buffer bytes;
    pickled content;
};

/// Errors: those of pickle_stream::next_pickle() and of pickle_machine::run().
inline result<carried_out_pickle> carry_out_next(pickle_stream& from, uint64_t first_bytes = 512) {
    ZTENSOR_TRY_ASSIGN(byte_buffer pickle, from.next_pickle(first_bytes));
    ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes()).run());
    return carried_out_pickle{std::move(pickle), std::move(content)};
}
/// Of the pickles that hold everything else.
inline constexpr uint64_t first_bytes_of_large = 1 << 16;

/// A file whose tensors are in one pickle, and its storages outside of that.
class pt_single_pickle : protected storage_finder {
protected:
    explicit pt_single_pickle(const foreign_file& file) : file_(file) {}

    [[nodiscard]] pickle_stream stream(uint64_t begin, uint64_t end) const {
        return pickle_stream(*file_.source, begin, end, most_pickle_bytes(file_.options));
    }
    /// `stem` names a tensor that stands alone.
    result<imported> finish(pickled content, const string& stem) {
        pt_import to(file_);
        ZTENSOR_TRY(to.add(std::move(content), *this, false, {stem, string()}));
        return to.objects.finish(std::move(to.all));
    }
    result<uint64_t> place_pickle() override { return pickle_at_; }

    const foreign_file& file_;
    uint64_t pickle_at_ = 0;
};

class pt_legacy_importer final : pt_single_pickle {
public:
    explicit pt_legacy_importer(const foreign_file& file) : pt_single_pickle(file) {}

    result<imported> import(const string& stem) {
        pickle_stream from = stream(0, file_.source->size());
        ZTENSOR_TRY(check_version(from));
        ZTENSOR_TRY_ASSIGN(carried_out_pickle object, carry_out_next(from, first_bytes_of_large));
        pickle_at_ = from.position() - object.bytes.size();
        ZTENSOR_TRY(place_storages(object.content, from));
        return finish(std::move(object.content), stem);
    }

private:
    struct known_storage {
        string_view key;
        uint64_t bytes;
        uint64_t element_bytes;
        uint64_t offset; ///< 0: it has not been found
    };

    /// A magic number, the version, and what is said of the machine that wrote, which changes nothing: all numbers are
    /// little-endian.
    static result<void> check_version(pickle_stream& from) {
        constexpr int64_t known_version = 1001;
        ZTENSOR_TRY(from.next_pickle());
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle version, carry_out_next(from));
        const pickled& stated = version.content;
        if (stated.root.kind != pickle_kind::integer || stated.integer_of(stated.root) != known_version) {
            return fail(errc::unsupported_version, "the file is of another version of PyTorch's format than {}",
                        {known_version});
        }
        ZTENSOR_TRY(from.next_pickle());
        return {};
    }

    /// The storages lie in the order of a list of their keys.
    result<void> place_storages(const pickled& content, pickle_stream& from) {
        for (size_t i = 0; i < content.storages.size(); ++i) {
            const pickle_storage& each = content.storages[i];
            storages_.push_back({content.text_of(each.key), each.bytes, pickle_globals[each.element].element_bytes, 0});
        }
        std::sort(storages_.begin(), storages_.end(), [](const known_storage& a, const known_storage& b) {
            return a.key != b.key ? a.key < b.key : a.bytes < b.bytes;
        });
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from, first_bytes_of_large));
        const pickled& keys = pickle.content;
        if (keys.root.kind != pickle_kind::list) {
            return fail(errc::pickle_malformed, "the keys of the storages are {}, not a list", {name(keys.root.kind)});
        }
        pickle_items items(keys, keys.root);
        while (const pickle_value* const key = items.next()) {
            known_storage* const storage = key->kind == pickle_kind::text ? find_known(keys.text_of(*key)) : nullptr;
            if (storage == nullptr) {
                return fail(errc::pickle_malformed, "a storage of the file belongs to no tensor");
            }
            ZTENSOR_TRY_ASSIGN(const uint64_t elements, from.next_number(8));
            if (elements != storage->bytes / storage->element_bytes) {
                return fail(errc::size_mismatch, "storage {} has {} elements, but in the file {}",
                            {in_quotes(storage->key), storage->bytes / storage->element_bytes, elements});
            }
            storage->offset = from.position();
            ZTENSOR_TRY(from.skip(storage->bytes));
        }
        return {};
    }

    [[nodiscard]] known_storage* find_known(string_view key) noexcept {
        return find_sorted(storages_, &known_storage::key, key);
    }
    result<placed_storage> find(const pickle_storage& storage, string_view key) override {
        const known_storage* const found = find_known(key);
        if (found == nullptr || found->offset == 0) {
            return fail(errc::schema_missing, "the file has no storage {}", {in_quotes(key)});
        }
        if (found->bytes != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} is of {} bytes in one place and of {} in another",
                        {in_quotes(key), found->bytes, storage.bytes});
        }
        return placed_storage{found->offset, found->bytes, {}};
    }

    vector<known_storage> storages_; ///< by their key
};

// -- plain pickle
//
// A pickle that no checkpoint is around: arrays of NumPy lie in it, and there are no storages.

class plain_pickle_importer final : pt_single_pickle {
public:
    explicit plain_pickle_importer(const foreign_file& file) : pt_single_pickle(file) {}

    result<imported> import(const string& stem) {
        const uint64_t size = file_.source->size();
        pickle_stream from = stream(0, size);
        ZTENSOR_TRY_ASSIGN(carried_out_pickle object, carry_out_next(from, size));
        if (const uint64_t left = size - from.position(); left != 0) {
            return fail(errc::unclaimed_bytes, "{} bytes follow the pickle: only a file of one pickle is read", {left});
        }
        return finish(std::move(object.content), stem);
    }

private:
    result<placed_storage> find(const pickle_storage& /*storage*/, string_view key) override {
        return fail(errc::schema_missing,
                    "storage {} is not in the pickle: open the checkpoint that the pickle was taken out of",
                    {in_quotes(key)});
    }
};

// -- pt tar
//
// PyTorch files from before version 0.2: a tar archive of three streams of pickles, of storages, of tensors, and of the
// object that names these.

/// Nothing if the field holds other than octal digits.
[[nodiscard]] inline optional<uint64_t> parse_octal(string_view field) noexcept {
    uint64_t value = 0;
    for (const char each : field.substr(0, field.find_first_of(string_view("\0 ", 2)))) {
        if (each < '0' || each > '7') {
            return std::nullopt;
        }
        value = value << 3 | static_cast<uint64_t>(each - '0'); // of 12 digits at most
    }
    return value;
}

class pt_tar_importer final : pt_single_pickle {
public:
    explicit pt_tar_importer(const foreign_file& file) : pt_single_pickle(file) {}

    result<imported> import(const string& stem) {
        ZTENSOR_TRY(find_members());
        ZTENSOR_TRY(read_storages());
        ZTENSOR_TRY(read_tensors());
        pickle_at_ = pickle_.begin;
        pickle_stream from = stream(pickle_.begin, pickle_.end);
        ZTENSOR_TRY_ASSIGN(const byte_buffer pickle, from.next_pickle(first_bytes_of_large));
        constexpr uint64_t memory_of_tensor = 512; // besides its sizes and strides
        const uint64_t memory = tensors_.size() * memory_of_tensor + 8 * shapes_.size() * sizeof(uint64_t);
        const pickle_machine::by_number tensors = [&](int64_t number, pickled& made) {
            return make_tensor(number, made);
        };
        ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes(), memory).run(&tensors));
        return finish(std::move(content), stem);
    }

private:
    struct member {
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    struct known_storage {
        int64_t number = 0;
        uint32_t element = 0; ///< in pickle_globals
        uint64_t offset = 0;
        uint64_t bytes = 0;

        [[nodiscard]] uint64_t width() const noexcept { return pickle_globals[element].element_bytes; }
    };
    struct known_tensor {
        int64_t number = 0;
        known_storage storage;
        uint64_t offset = 0; ///< in elements
        size_t shape = 0;    ///< the first of its sizes, behind which the strides stand
        size_t rank = 0;
    };

    /// One of those that hold tensors, or null.
    [[nodiscard]] member* find_member(string_view name) noexcept {
        return name == "storages"  ? &storages_member_
               : name == "tensors" ? &tensors_member_
               : name == "pickle"  ? &pickle_
                                   : nullptr;
    }

    result<void> find_members() {
        constexpr uint64_t block = 512;
        constexpr size_t name_bytes = 100, size_at = 124, size_bytes = 12, most_members = 1024;
        const uint64_t end = file_.source->size();
        uint64_t at = 0;
        for (size_t i = 0; i < most_members && fits(at, block, end); ++i) {
            std::array<byte, block> header;
            ZTENSOR_TRY(file_.source->read_at(at, header));
            const string_view text = as_text(header);
            const string_view name = text.substr(0, (std::min)(text.find('\0'), name_bytes));
            const optional<uint64_t> size = parse_octal(text.substr(size_at, size_bytes));
            if (name.empty()) {
                break;
            }
            if (!size || !fits(at + block, *size, end)) {
                return fail(errc::truncated, "member {} of the archive reaches beyond the file", {in_quotes(name)});
            }
            if (member* const found = find_member(name)) {
                found->begin = at + block;
                found->end = at + block + *size;
            }
            at += block + (*size + block - 1) / block * block;
        }
        return pickle_.begin != 0 && storages_member_.begin != 0 && tensors_member_.begin != 0
                   ? result<void>()
                   : fail(errc::schema_missing, "the archive lacks one of storages, tensors and pickle");
    }

    /// A pickle that is an int. Errors: pickle_malformed; those of the stream.
    static result<uint64_t> next_count(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& count = pickle.content;
        return count.is_size(count.root) ? result<uint64_t>(count.size_of(count.root))
                                         : fail(errc::pickle_malformed, "a pickle is no number, where one should be");
    }

    /// Of the tuple of three that describes a storage or a tensor; none where the pickle holds anything else.
    [[nodiscard]] static pickle_value item_of_three(const pickled& told, size_t i) noexcept {
        return told.is_tuple_of(told.root, 3) ? told.item_of(told.root, i) : pickle_value();
    }

    /// How many there are; then each: a number, a device and a class, the number of elements, and these; then views.
    result<void> read_storages() {
        pickle_stream from = stream(storages_member_.begin, storages_member_.end);
        ZTENSOR_TRY_ASSIGN(const uint64_t count, next_count(from));
        for (uint64_t i = 0; i < count; ++i) {
            ZTENSOR_TRY(read_storage(from));
        }
        sort_by(storages_, &known_storage::number);
        return read_views(from);
    }
    result<void> read_storage(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickle_value number = item_of_three(pickle.content, 0);
        const pickle_value element = item_of_three(pickle.content, 2);
        if (number.kind != pickle_kind::integer || element.kind != pickle_kind::global ||
            pickle_globals[element.place].role != pickle_role::storage) {
            return fail(errc::pickle_malformed, "a storage is not described by a number, a device and a class");
        }
        known_storage storage;
        storage.number = pickle.content.integer_of(number);
        storage.element = element.place;
        ZTENSOR_TRY_ASSIGN(const uint64_t elements, from.next_number(8));
        const optional<uint64_t> bytes = checked_multiply(elements, storage.width());
        if (!bytes) {
            return fail(errc::shape_overflow, "a storage has more bytes than 64 bits can count");
        }
        storage.offset = from.position();
        storage.bytes = *bytes;
        storages_.push_back(storage);
        return from.skip(*bytes);
    }
    /// Of each its own number, that of a storage, the first element, and how many.
    result<void> read_views(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& views = pickle.content;
        if (views.root.kind != pickle_kind::list) {
            return fail(errc::pickle_malformed, "the views of storages are no list");
        }
        vector<known_storage> found;
        pickle_items items(views, views.root);
        while (const pickle_value* const view = items.next()) {
            if (!views.is_tuple_of_sizes(*view) || views.count_of(*view) != 4) {
                return fail(errc::pickle_malformed, "a view of a storage is other than four numbers");
            }
            const auto at = [&](size_t i) { return views.size_of(views.item_of(*view, i)); };
            const known_storage* const root =
                find_sorted(storages_, &known_storage::number, static_cast<int64_t>(at(1)));
            if (root == nullptr || !fits(at(2), at(3), root->bytes / root->width())) {
                return fail(errc::out_of_bounds, "a view reaches beyond its storage, or there is none");
            }
            found.push_back({static_cast<int64_t>(at(0)), root->element, root->offset + at(2) * root->width(),
                             at(3) * root->width()});
        }
        storages_.insert(storages_.end(), found.begin(), found.end());
        sort_by(storages_, &known_storage::number);
        return {};
    }

    /// How many there are; then each: its number, that of a storage, and a class; the rank, sizes, strides and offset.
    result<void> read_tensors() {
        pickle_stream from = stream(tensors_member_.begin, tensors_member_.end);
        ZTENSOR_TRY_ASSIGN(const uint64_t count, next_count(from));
        for (uint64_t i = 0; i < count; ++i) {
            ZTENSOR_TRY(read_tensor(from));
        }
        sort_by(tensors_, &known_tensor::number);
        return {};
    }
    result<void> read_tensor(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& told = pickle.content;
        const pickle_value number = item_of_three(told, 0), storage = item_of_three(told, 1);
        const known_storage* const of = storage.kind == pickle_kind::integer
                                            ? find_sorted(storages_, &known_storage::number, told.integer_of(storage))
                                            : nullptr;
        if (number.kind != pickle_kind::integer || of == nullptr) {
            return fail(errc::pickle_malformed, "a tensor is not described by a number, its storage's and a class");
        }
        known_tensor tensor;
        tensor.number = told.integer_of(number);
        tensor.storage = *of;
        tensor.shape = shapes_.size();
        ZTENSOR_TRY_ASSIGN(uint64_t rank, from.next_number(8));
        rank &= 0xffffffff; // the upper half once was something else
        for (uint64_t i = 0; i < 2 * rank; ++i) {
            ZTENSOR_TRY_ASSIGN(const uint64_t size, from.next_number(8));
            shapes_.push_back(size);
        }
        tensor.rank = static_cast<size_t>(rank); // which so many numbers were there for
        ZTENSOR_TRY_ASSIGN(tensor.offset, from.next_number(8));
        tensors_.push_back(tensor);
        return {};
    }

    /// As the pickle's values have it.
    result<pickle_value> make_tensor(int64_t number, pickled& made) {
        const known_tensor* const known = find_sorted(tensors_, &known_tensor::number, number);
        if (known == nullptr) {
            return fail(errc::pickle_malformed, "the pickle names tensor {}, which is not there", {number});
        }
        byte place[8]; // where the storage lies is its key
        store_little(known->storage.offset, place, sizeof place);
        pickle_storage storage;
        storage.key = made.add_decoded(pickle_kind::text, place);
        storage.element = static_cast<uint16_t>(known->storage.element);
        storage.bytes = known->storage.bytes;
        const span<const uint64_t> shape = span<const uint64_t>(shapes_).subspan(known->shape);
        return made.make_tensor(storage, known->offset, shape.first(known->rank),
                                shape.subspan(known->rank, known->rank));
    }

    result<placed_storage> find(const pickle_storage& storage, string_view key) override {
        return placed_storage{load_little(as_bytes(key).data(), key.size()), storage.bytes, {}};
    }

    member pickle_, storages_member_, tensors_member_;
    vector<known_storage> storages_;
    vector<known_tensor> tensors_;
    vector<uint64_t> shapes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
