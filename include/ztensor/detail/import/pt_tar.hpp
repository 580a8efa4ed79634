// SPDX-License-Identifier: MIT
//
// PyTorch files from before version 0.2: a tar archive of three streams of pickles, of storages, of tensors, and of the
// object that names these.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_TAR_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_TAR_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_machine.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pt.hpp>
#include <ztensor/detail/import/pt_tensors.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The content of an archive's member.
struct tar_member {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Nothing if the field holds other than octal digits.
[[nodiscard]] inline std::optional<std::uint64_t> parse_octal(std::string_view field) noexcept {
    std::uint64_t value = 0;
    for (const char each : field) {
        if (each == '\0' || each == ' ') {
            break;
        }
        if (each < '0' || each > '7') {
            return std::nullopt;
        }
        value = value << 3 | static_cast<std::uint64_t>(each - '0'); // of 12 digits at most
    }
    return value;
}

class pt_tar_importer final : storage_finder {
public:
    explicit pt_tar_importer(const foreign_file& file)
        : file_(file), all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)) {}

    [[nodiscard]] result<imported> import(const std::string& stem) {
        result<void> read = find_members();
        read = read ? read_storages() : std::move(read);
        read = read ? read_tensors() : std::move(read);
        if (!read) {
            return std::move(read).error();
        }
        pickle_stream from = stream_of(pickle_);
        ZTENSOR_TRY_ASSIGN(const byte_buffer pickle, from.next_pickle(std::uint64_t{1} << 16));
        constexpr std::uint64_t memory_of_tensor = 512; // besides its sizes and strides
        const std::uint64_t memory = tensors_.size() * memory_of_tensor + 8 * shapes_.size() * sizeof(std::uint64_t);
        const pickle_machine::by_number tensors = [&](std::int64_t number, pickled& made, import_budget& budget) {
            return make_tensor(number, made, budget);
        };
        ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes(), memory).run(&tensors));
        return import_pickled(file_, all_, std::move(content), *this, stem);
    }

private:
    struct known_storage {
        std::int64_t number = 0;
        std::uint32_t element = 0; ///< in pickle_globals
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    struct known_tensor {
        std::int64_t number = 0;
        known_storage storage;
        std::uint64_t offset = 0; ///< in elements
        std::size_t shape = 0;    ///< the first of its sizes, behind which the strides stand
        std::size_t rank = 0;
    };

    [[nodiscard]] pickle_stream stream_of(const tar_member& member) const {
        return pickle_stream(*file_.source, member.offset, member.offset + member.size,
                             most_pickle_bytes(file_.options));
    }

    [[nodiscard]] result<void> find_members() {
        constexpr std::uint64_t block = 512;
        constexpr std::size_t name_bytes = 100, size_at = 124, size_bytes = 12, most_members = 1024;
        const std::uint64_t end = file_.source->size();
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < most_members && fits(at, block, end); ++i) {
            std::array<std::byte, block> header;
            ZTENSOR_TRY(file_.source->read_at(at, header));
            const std::string_view text = as_text(header);
            const std::string_view name = text.substr(0, (std::min)(text.find('\0'), name_bytes));
            const std::optional<std::uint64_t> size = parse_octal(text.substr(size_at, size_bytes));
            if (name.empty()) {
                break;
            }
            if (!size || !fits(at + block, *size, end)) {
                return fail(errc::truncated, "member {} of the archive reaches beyond the file", {in_quotes(name)});
            }
            const tar_member member{at + block, *size};
            (name == "storages"  ? storages_member_
             : name == "tensors" ? tensors_member_
             : name == "pickle"  ? pickle_
                                 : other_) = member;
            at += block + (*size + block - 1) / block * block;
        }
        return pickle_.offset != 0 && storages_member_.offset != 0 && tensors_member_.offset != 0
                   ? result<void>()
                   : fail(errc::schema_missing, "the archive lacks one of storages, tensors and pickle");
    }

    /// A pickle that is an int. Errors: pickle_malformed; those of the stream.
    [[nodiscard]] static result<std::uint64_t> next_count(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& count = pickle.content;
        return is_size(count, count.root) ? result<std::uint64_t>(size_of(count, count.root))
                                          : fail(errc::pickle_malformed, "a pickle is no number, where one should be");
    }

    /// Of the tuple of three that describes a storage or a tensor; none where the pickle holds anything else.
    [[nodiscard]] static pickle_value item_of_three(const pickled& told, std::size_t i) noexcept {
        const bool is_triple = told.root.kind == pickle_kind::tuple && told.count_of(told.root) == 3;
        return is_triple ? told.item_of(told.root, i) : pickle_value();
    }

    /// How many there are; then each: a number, a device and a class, the number of elements, and these; then views.
    [[nodiscard]] result<void> read_storages() {
        pickle_stream from = stream_of(storages_member_);
        ZTENSOR_TRY_ASSIGN(const std::uint64_t count, next_count(from));
        for (std::uint64_t i = 0; i < count; ++i) {
            ZTENSOR_TRY(read_storage(from));
        }
        sort_by_number(storages_);
        return read_views(from);
    }
    [[nodiscard]] result<void> read_storage(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickle_value number = item_of_three(pickle.content, 0);
        const pickle_value element = item_of_three(pickle.content, 2);
        if (number.kind != pickle_kind::integer || element.kind != pickle_kind::global ||
            pickle_globals[element.place].role != pickle_role::storage) {
            return fail(errc::pickle_malformed, "a storage is not described by a number, a device and a class");
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t elements, from.next_number(8));
        const std::optional<std::uint64_t> bytes =
            checked_multiply(elements, pickle_globals[element.place].element_bytes);
        if (!bytes) {
            return fail(errc::shape_overflow, "a storage has more bytes than 64 bits can count");
        }
        storages_.push_back({pickle.content.integer_of(number), element.place, from.position(), *bytes});
        return from.skip(*bytes);
    }
    /// Of each its own number, that of a storage, the first element, and how many.
    [[nodiscard]] result<void> read_views(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& views = pickle.content;
        if (views.root.kind != pickle_kind::list) {
            return fail(errc::pickle_malformed, "the views of storages are no list");
        }
        std::vector<known_storage> found;
        pickle_items items(views, views.root);
        while (const pickle_value* const view = items.next(views)) {
            if (!is_tuple_of_sizes(views, *view) || views.count_of(*view) != 4) {
                return fail(errc::pickle_malformed, "a view of a storage is other than four numbers");
            }
            const auto at = [&](std::size_t i) { return size_of(views, views.item_of(*view, i)); };
            const known_storage* const root = find_by_number(storages_, static_cast<std::int64_t>(at(1)));
            const std::uint64_t width = root != nullptr ? pickle_globals[root->element].element_bytes : 1;
            if (root == nullptr || !fits(at(2), at(3), root->bytes / width)) {
                return fail(errc::out_of_bounds, "a view reaches beyond its storage, or there is none");
            }
            found.push_back(
                {static_cast<std::int64_t>(at(0)), root->element, root->offset + at(2) * width, at(3) * width});
        }
        storages_.insert(storages_.end(), found.begin(), found.end());
        sort_by_number(storages_);
        return {};
    }

    /// How many there are; then each: its number, that of a storage, and a class; the rank, sizes, strides and offset.
    [[nodiscard]] result<void> read_tensors() {
        pickle_stream from = stream_of(tensors_member_);
        ZTENSOR_TRY_ASSIGN(const std::uint64_t count, next_count(from));
        for (std::uint64_t i = 0; i < count; ++i) {
            ZTENSOR_TRY(read_tensor(from));
        }
        sort_by_number(tensors_);
        return {};
    }
    [[nodiscard]] result<void> read_tensor(pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from));
        const pickled& told = pickle.content;
        const pickle_value number = item_of_three(told, 0);
        const pickle_value storage = item_of_three(told, 1);
        const known_storage* const of =
            storage.kind == pickle_kind::integer ? find_by_number(storages_, told.integer_of(storage)) : nullptr;
        if (number.kind != pickle_kind::integer || of == nullptr) {
            return fail(errc::pickle_malformed, "a tensor is not described by a number, its storage's and a class");
        }
        known_tensor tensor;
        tensor.number = told.integer_of(number);
        tensor.storage = *of;
        tensor.shape = shapes_.size();
        const result<std::uint64_t> rank = from.next_number(8); // of which the upper half once was something else
        if (!rank) {
            return rank.error();
        }
        const std::uint64_t rank_of_32_bits = *rank & 0xffffffff;
        for (std::uint64_t i = 0; i < 2 * rank_of_32_bits; ++i) {
            ZTENSOR_TRY_ASSIGN(const std::uint64_t size, from.next_number(8));
            shapes_.push_back(size);
        }
        tensor.rank = static_cast<std::size_t>(rank_of_32_bits); // which so many numbers were there for
        ZTENSOR_TRY_ASSIGN(const std::uint64_t offset, from.next_number(8));
        tensor.offset = offset;
        tensors_.push_back(tensor);
        return {};
    }

    template <class Known>
    static void sort_by_number(std::vector<Known>& all) {
        std::sort(all.begin(), all.end(), [](const Known& a, const Known& b) { return a.number < b.number; });
    }
    template <class Known>
    [[nodiscard]] static const Known* find_by_number(const std::vector<Known>& all, std::int64_t number) noexcept {
        const auto found = std::lower_bound(all.begin(), all.end(), number,
                                            [](const Known& a, std::int64_t b) { return a.number < b; });
        return found != all.end() && found->number == number ? &*found : nullptr;
    }

    /// As the pickle's values have it.
    [[nodiscard]] result<pickle_value> make_tensor(std::int64_t number, pickled& made, import_budget& budget) const {
        const known_tensor* const known = find_by_number(tensors_, number);
        if (known == nullptr) {
            return fail(errc::pickle_malformed, "the pickle names tensor {}, which is not there", {number});
        }
        std::byte place[8]; // where the storage lies is its key
        store_little(known->storage.offset, place, sizeof place);
        const result<pickle_value> key = add_decoded(made, pickle_kind::text, place, budget);
        if (!key) {
            return key;
        }
        pickle_storage storage;
        storage.key = *key;
        storage.element = static_cast<std::uint16_t>(known->storage.element);
        storage.bytes = known->storage.bytes;
        const span<const std::uint64_t> shape = span<const std::uint64_t>(shapes_).subspan(known->shape);
        return detail::make_tensor(made, storage, known->offset, shape.first(known->rank),
                                   shape.subspan(known->rank, known->rank), budget);
    }

    [[nodiscard]] result<placed_storage> find(const pickle_storage& storage, std::string_view key) override {
        return placed_storage{load_little(as_bytes(key).data(), key.size()), storage.bytes, {}};
    }

    [[nodiscard]] result<std::uint64_t> place_pickle() override { return pickle_.offset; }

    const foreign_file& file_;
    std::shared_ptr<assembled_source> all_;
    tar_member pickle_, storages_member_, tensors_member_, other_;
    std::vector<known_storage> storages_;
    std::vector<known_tensor> tensors_;
    std::vector<std::uint64_t> shapes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
