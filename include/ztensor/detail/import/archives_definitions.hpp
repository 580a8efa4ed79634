// SPDX-License-Identifier: MIT
//
// Which importer an archive is for, and the one of programs of torch.export (.pt2): archives of weights and constants,
// of which JSON says where they lie, or of archives that torch.save wrote, as before PyTorch 2.9. The program itself is
// not read. Defines what importer.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_ARCHIVES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_ARCHIVES_DEFINITIONS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/npy.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt.hpp>
#include <ztensor/detail/import/pt_payloads.hpp>
#include <ztensor/detail/import/pt_tensors.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- payloads
//
// What a program says of its weights: of each name the entry that holds it, and how its numbers lie there.

/// The dtype that torch.export has for a number; null for none.
[[nodiscard]] inline const pickle_global* find_pt_dtype(uint64_t number) noexcept {
    constexpr string_view from_1[] = {"uint8",   "int8",      "int16",     "int32",      "int64", "float16", "float32",
                                      "float64", "complex32", "complex64", "complex128", "bool",  "bfloat16"};
    constexpr string_view from_28[] = {"uint16",          "float8_e4m3fn",  "float8_e5m2", "float8_e4m3fnuz",
                                       "float8_e5m2fnuz", "float8_e8m0fnu", "uint32",      "uint64"};
    const auto at = static_cast<size_t>(number < 64 ? number : 0);
    return at >= 1 && at - 1 < std::size(from_1)      ? find_pickle_global("torch", from_1[at - 1])
           : at >= 28 && at - 28 < std::size(from_28) ? find_pickle_global("torch", from_28[at - 28])
                                                      : nullptr;
}

/// The name of what stands under another; `front` is "" for none.
[[nodiscard]] inline string joined(string_view front, string_view name) {
    string all(front);
    all += front.empty() ? "" : ".";
    return all += name;
}

/// Payloads become values as a pickle would have them: a dictionary of tensors.
class pt_payload_values {
public:
    struct pickled_payload {
        string name;
        string path;
    };

    /// The JSON takes `json_bytes`, and what is made of it as much memory as of a pickle. `folder` is that of the
    /// payloads in the folder of the archive; their names in `to` start with `front`.
    pt_payload_values(pt_entries& entries, string_view folder, uint64_t json_bytes, string_view front, pt_objects& to)
        : made({}, json_bytes), entries_(entries), folder_(folder), front_(front), to_(to) {
        made.root = made.make_container(pickle_kind::dictionary);
    }

    /// Errors: unknown_dtype, schema_missing, limit_exceeded.
    result<void> take(const pt_payload& payload) {
        if (payload.is_pickled) {
            pickles.push_back({payload.name, payload.path});
            return {};
        }
        if (!payload.is_tensor || payload.layout != pt_strided_layout) {
            to_.skip(joined(front_, payload.name),
                     payload.is_tensor ? "its layout is other than strided" : "it is no tensor");
            return {};
        }
        const pickle_global* const element = find_pt_dtype(payload.dtype);
        if (element == nullptr) {
            return fail(errc::unknown_dtype, "torch.export has no dtype of the number {}", {payload.dtype});
        }
        ZTENSOR_TRY_ASSIGN(const pt_entry* const entry, entry_of(entries_, folder_, payload.path));
        const pickle_value name = made.add_decoded(pickle_kind::text, as_bytes(payload.name));
        pickle_storage storage;
        storage.key = made.add_decoded(pickle_kind::text, as_bytes(payload.path));
        storage.bytes = entry->entry.size;
        storage.element = static_cast<uint16_t>(element - pickle_globals);
        const bool has_elements = std::find(payload.sizes.begin(), payload.sizes.end(), 0) == payload.sizes.end();
        storage.is_meta = has_elements && storage.bytes == 0; // as of a tensor that was none but in name
        made.append_pair(made.root, name, made.make_tensor(storage, payload.offset, payload.sizes, payload.strides));
        return made.check_limits();
    }

    /// Errors: schema_missing.
    static result<pt_entry*> entry_of(pt_entries& entries, string_view folder, const string& path) {
        pt_entry* const entry = entries.find(string(folder) + path);
        return entry != nullptr ? result<pt_entry*>(entry)
                                : fail(errc::schema_missing, "the archive has no entry for {}", {in_quotes(path)});
    }

    pickled made;
    vector<pickled_payload> pickles; ///< which are not among the values

private:
    pt_entries& entries_;
    string_view folder_;
    string_view front_;
    pt_objects& to_;
};

/// The JSON -> payloads, one after the other. What PyTorch says besides is passed over.
class pt_payload_listener final : public json_listener {
public:
    explicit pt_payload_listener(pt_payload_values& to) noexcept : to_(to) {}

    /// Of the whole text, once it is told.
    [[nodiscard]] bool has_config() const noexcept { return has(field::config); }

    [[nodiscard]] bool begin_object() override {
        const place at = here();
        if (is_passed_over()) {
            return ++ignored_depth_ != 0;
        }
        if (at == place::number || (at == place::payload && field_ != field::tensor) ||
            (at == place::tensor && field_ != field::offset)) {
            return refuse_kind("an object");
        }
        const place next = at < place::tensor ? static_cast<place>(static_cast<int>(at) + 1) : place::number;
        if (next == place::payload) {
            string name = std::move(payload_.name);
            payload_ = pt_payload();
            payload_.name = std::move(name);
            seen_ &= bit_of(field::config);
        }
        payload_.is_tensor = payload_.is_tensor || next == place::tensor;
        seen_ &= next == place::number ? ~bit_of(field::number) : ~0u;
        return enter(next);
    }
    [[nodiscard]] bool end_object() override {
        const place left = here();
        if (ignored_depth_ != 0) {
            return --ignored_depth_, true;
        }
        --depth_;
        return left == place::number ? end_number() : left == place::payload ? end_payload() : true;
    }
    [[nodiscard]] bool key(string_view name) override {
        if (ignored_depth_ != 0) {
            return true;
        }
        if (here() == place::config) {
            payload_.name = name;
            return true;
        }
        field_ = find_field(here(), name);
        if (field_ != field::unknown && has(field_)) {
            return refuse(errc::duplicate_key, "it has the field {} twice", {in_quotes(name)});
        }
        seen_ |= bit_of(field_);
        return true;
    }
    [[nodiscard]] bool begin_array() override {
        if (is_passed_over()) {
            return ++ignored_depth_ != 0;
        }
        if (here() != place::tensor || (field_ != field::sizes && field_ != field::strides)) {
            return refuse_kind("an array");
        }
        list_ = field_ == field::sizes ? &payload_.sizes : &payload_.strides;
        return enter(place::list);
    }
    [[nodiscard]] bool end_array() override {
        ignored_depth_ != 0 ? --ignored_depth_ : --depth_;
        return true;
    }
    [[nodiscard]] bool unsigned_integer(uint64_t value) override {
        uint64_t* const to = is_at(place::tensor, field::dtype)    ? &payload_.dtype
                             : is_at(place::tensor, field::layout) ? &payload_.layout
                             : is_at(place::number, field::number) ? &number_
                                                                   : nullptr;
        return take(to, value, "a number");
    }
    [[nodiscard]] bool text(string_view value) override {
        return take(is_at(place::payload, field::path) ? &payload_.path : nullptr, value, "text");
    }
    [[nodiscard]] bool boolean(bool value) override {
        return take(is_at(place::payload, field::is_pickled) ? &payload_.is_pickled : nullptr, value, "a truth value");
    }
    [[nodiscard]] bool null() override {
        return is_at(place::payload, field::tensor) || other("null"); // as an object has that is no tensor
    }
    [[nodiscard]] bool other(const char* what) override { return is_passed_over() || refuse_kind(what); }

private:
    enum class place : uint8_t { start, root, config, payload, tensor, list, number };
    enum class field : uint8_t {
        config,
        path,
        is_pickled,
        tensor,
        dtype,
        layout,
        offset,
        sizes,
        strides,
        number,
        unknown
    };

    [[nodiscard]] static field find_field(place in, string_view name) noexcept {
        struct field_name {
            place in;
            string_view name;
        };
        constexpr field_name names[] = {
            {place::root, "config"},           {place::payload, "path_name"}, {place::payload, "use_pickle"},
            {place::payload, "tensor_meta"},   {place::tensor, "dtype"},      {place::tensor, "layout"},
            {place::tensor, "storage_offset"}, {place::tensor, "sizes"},      {place::tensor, "strides"},
            {place::number, "as_int"},
        };
        const auto found = std::find_if(std::begin(names), std::end(names),
                                        [&](const field_name& each) { return each.in == in && each.name == name; });
        return static_cast<field>(found - names); // in their order
    }
    [[nodiscard]] static unsigned bit_of(field of) noexcept {
        return of == field::unknown ? 0 : 1u << static_cast<unsigned>(of);
    }
    [[nodiscard]] bool has(field of) const noexcept { return (seen_ & bit_of(of)) != 0; }

    [[nodiscard]] place here() const noexcept { return depth_ == 0 ? place::start : open_[depth_ - 1]; }
    [[nodiscard]] bool is_at(place at, field of) const noexcept {
        return ignored_depth_ == 0 && here() == at && field_ == of;
    }
    /// Within a field that is not known.
    [[nodiscard]] bool is_passed_over() const noexcept {
        const place at = here();
        const bool has_fields = at == place::root || at == place::payload || at == place::tensor || at == place::number;
        return ignored_depth_ != 0 || (has_fields && field_ == field::unknown);
    }
    /// Each place leads only to others, so that there are never more than six.
    [[nodiscard]] bool enter(place at) noexcept {
        open_[depth_++] = at;
        return true;
    }
    /// A value, which is refused as `what` where none of its kind belongs.
    template <class To, class Value>
    [[nodiscard]] bool take(To* to, Value value, const char* what) {
        if (to == nullptr) {
            return other(what);
        }
        *to = value;
        return true;
    }
    [[nodiscard]] bool end_number() {
        if (!has(field::number)) {
            return refuse(errc::schema_missing, "it has a size that is no number", {});
        }
        if (here() == place::list) {
            list_->push_back(number_);
        } else {
            payload_.offset = number_;
        }
        return true;
    }
    [[nodiscard]] bool end_payload() {
        const bool is_whole =
            has(field::path) && (payload_.is_pickled || !payload_.is_tensor ||
                                 (has(field::dtype) && has(field::sizes) && has(field::strides) && has(field::offset)));
        if (!is_whole) {
            return refuse(errc::schema_missing, "it lacks one of path_name, dtype, sizes, strides and storage_offset",
                          {});
        }
        if (payload_.sizes.size() != payload_.strides.size()) {
            return refuse(errc::header_malformed, "it has {} sizes, but {} strides",
                          {payload_.sizes.size(), payload_.strides.size()});
        }
        result<void> taken = to_.take(payload_);
        return taken || json_listener::refuse(std::move(taken).error().in_object(payload_.name));
    }

    ZTENSOR_COLD bool refuse(errc code, const char* pattern, std::initializer_list<piece> pieces) {
        return json_listener::refuse(fail(code, pattern, pieces).in_object(payload_.name));
    }
    ZTENSOR_COLD bool refuse_kind(const char* found) {
        return refuse(errc::schema_type, "its description holds {} where torch.export has another kind of value",
                      {found});
    }

    pt_payload_values& to_;
    pt_payload payload_;
    std::array<place, 8> open_{};
    size_t depth_ = 0;
    size_t ignored_depth_ = 0;
    field field_ = field::unknown;
    unsigned seen_ = 0; ///< fields of the payload that is open, and the config
    uint64_t number_ = 0;
    vector<uint64_t>* list_ = nullptr;
};

// -- program

/// What holds weights or constants.
struct pt_program_part {
    string_view folder; ///< in the folder of the archive
    string_view config; ///< the end of the name of what JSON says of them
};
inline constexpr pt_program_part pt_program_parts[] = {{"data/weights/", "_weights_config.json"},
                                                       {"data/constants/", "_constants_config.json"}};
inline constexpr string_view pt_inner_archive = ".pt"; ///< the end of the name in place of that of JSON
inline constexpr string_view pt_older_states[] = {"serialized_state_dict.pt", "serialized_state_dict.json",
                                                  "serialized_constants.pt", "serialized_constants.json"};

/// The name of the model of which AOTInductor describes the weights in the entry of that name; nothing for another.
[[nodiscard]] inline optional<string_view> aoti_model_of(string_view name) noexcept {
    return between(name, "data/aotinductor/", "/weights_config.json");
}

/// Whether the entry of that name in the folder holds or describes the weights of one program.
[[nodiscard]] inline bool is_of_weights(string_view name) noexcept {
    const pt_program_part& weights = pt_program_parts[0];
    return aoti_model_of(name) || between(name, weights.folder, weights.config) ||
           between(name, weights.folder, pt_inner_archive);
}

/// The folder, with its slash, that a program's entries lie in; nothing if the archive is none, or has no weights.
[[nodiscard]] inline optional<string_view> find_pt_program(const zip_directory& archive) noexcept {
    for (const zip_entry& each : archive.entries()) {
        if (each.name == pt_older_states[0] || each.name == pt_older_states[1]) {
            return string_view();
        }
        for (const size_t folder : {each.name.find('/') + 1, size_t{0}}) { // 0 where there is no slash
            if (is_of_weights(each.name.substr(folder))) {
                return each.name.substr(0, folder);
            }
        }
    }
    return std::nullopt;
}

class pt_program {
public:
    pt_program(pt_import& to, pt_entries& entries) noexcept : to_(to), entries_(entries) {}

    /// Names of several programs start with that of theirs.
    result<void> add_to_objects() {
        ZTENSOR_TRY_ASSIGN(is_big_endian_, entries_.is_big_endian());
        for (const string_view name : pt_older_states) {
            if (const pt_entry* const entry = entries_.find(name)) {
                ZTENSOR_TRY(add_archive(*entry, {}));
            }
        }
        for (const pt_program_part& part : pt_program_parts) {
            ZTENSOR_TRY(add_part(part));
        }
        for (const pt_entry& each : entries_.all()) {
            if (const optional<string_view> model = aoti_model_of(each.name)) {
                ZTENSOR_TRY(add_compiled(each, has_several_programs() ? string(*model) : string()));
            }
        }
        return {};
    }

private:
    [[nodiscard]] bool has_several_programs() const noexcept {
        const vector<pt_entry>& all = entries_.all();
        return std::count_if(all.begin(), all.end(), [](const pt_entry& each) { return is_of_weights(each.name); }) > 1;
    }

    result<void> add_part(const pt_program_part& part) {
        const bool is_named = has_several_programs();
        for (const pt_entry& each : entries_.all()) {
            const optional<string_view> by_json = between(each.name, part.folder, part.config);
            const optional<string_view> program = by_json ? by_json : between(each.name, part.folder, pt_inner_archive);
            if (!program) {
                continue;
            }
            const string front = is_named ? string(*program) : string();
            ZTENSOR_TRY(by_json ? add_payloads(each, part.folder, front) : add_archive(each, {front, front}));
        }
        return {};
    }

    result<void> add_payloads(const pt_entry& json, string_view folder, const string& front) {
        ZTENSOR_TRY_ASSIGN(const byte_buffer text, entries_.read(json, to_.file.options));
        pt_payload_values values(entries_, folder, text.size(), front, to_.objects);
        pt_payload_listener listener(values);
        ZTENSOR_TRY(parse_json(as_text(text.bytes()), listener));
        if (!listener.has_config()) {
            return fail(errc::schema_missing, "{} in the archive describes nothing", {in_quotes(json.name)});
        }
        pt_entry_storages storages(entries_, folder, nullptr);
        ZTENSOR_TRY(to_.add(std::move(values.made), storages, is_big_endian_, {front, front}));
        return add_pickles(values, folder, front);
    }

    /// Tensors of classes of their own, which torch.save wrote, and objects that are no tensors.
    result<void> add_pickles(const pt_payload_values& values, string_view folder, const string& front) {
        for (const pt_payload_values::pickled_payload& each : values.pickles) {
            const string name = joined(front, each.name);
            if (starts_with(each.path, "custom_obj_") || starts_with(each.path, "opaque_obj_")) {
                to_.objects.skip(name, "it is an object, which is not made");
                continue;
            }
            ZTENSOR_TRY_ASSIGN(pt_entry* const entry, pt_payload_values::entry_of(entries_, folder, each.path));
            if (std::exchange(entry->is_taken, true)) {
                to_.objects.skip(name, "it is one object with another, which is read before");
                continue;
            }
            if (result<void> added = add_archive(*entry, {name, name}); !added) {
                return std::move(added).error().in_object(name);
            }
        }
        return {};
    }

    // -- of AOTInductor

    result<void> add_compiled(const pt_entry& json, const string& front) {
        ZTENSOR_TRY_ASSIGN(const byte_buffer text, entries_.read(json, to_.file.options));
        aoti_listener listener(to_.file.options.max_objects());
        ZTENSOR_TRY(parse_json(as_text(text.bytes()), listener));
        vector<pt_payload>& weights = listener.weights;
        std::stable_sort(weights.begin(), weights.end(),
                         [](const pt_payload& a, const pt_payload& b) { return a.path < b.path; });
        for (size_t begin = 0, end = 0; begin < weights.size(); begin = end) {
            while (end < weights.size() && weights[end].path == weights[begin].path) {
                ++end;
            }
            const span<const pt_payload> of_file = span<const pt_payload>(weights).subspan(begin, end - begin);
            ZTENSOR_TRY_ASSIGN(pt_entry* const entry,
                               pt_payload_values::entry_of(entries_, pt_program_parts[0].folder, of_file[0].path));
            ZTENSOR_TRY(with_archive(*entry, [&](pt_entries& in) { return add_views(in, of_file, front); }));
        }
        return {};
    }

    /// Views of the one tensor that an archive holds.
    result<void> add_views(pt_entries& in, span<const pt_payload> views, const string& front) {
        pt_entry* const entry = in.find("data.pkl");
        ZTENSOR_TRY_ASSIGN(const bool is_big_endian, in.is_big_endian());
        ZTENSOR_TRY_ASSIGN(const byte_buffer pickle, in.read(*entry, to_.file.options));
        ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes()).run());
        const pickle_value whole = content.root;
        if (whole.kind != pickle_kind::tensor || content.tensors[whole.place].form != pickle_form::dense) {
            for (const pt_payload& each : views) {
                to_.objects.skip(joined(front, each.name), "its file holds other than one dense tensor");
            }
            return {};
        }
        content.root = content.make_container(pickle_kind::dictionary);
        for (const pt_payload& each : views) {
            if (each.sizes.size() != each.strides.size()) {
                return fail(errc::header_malformed, "it has {} sizes, but {} strides",
                            {each.sizes.size(), each.strides.size()})
                    .in_object(each.name);
            }
            const pickle_storage storage = content.storages[content.tensors[whole.place].storage];
            const pickle_value name = content.add_decoded(pickle_kind::text, as_bytes(each.name));
            const pickle_value view = content.make_tensor(storage, each.offset, each.sizes, each.strides);
            content.tensors[view.place].element = content.tensors[whole.place].element;
            content.append_pair(content.root, name, view);
            ZTENSOR_TRY(content.check_limits());
        }
        pt_entry_storages storages(in, "data/", entry);
        return to_.add(std::move(content), storages, is_big_endian, {front, front});
    }

    // -- archives in the archive

    result<void> add_archive(const pt_entry& outer, const pt_names& names) {
        return with_archive(outer, [&](pt_entries& in) { return add_pt_archive(to_, in, names); });
    }

    /// An archive in the archive, which lies there as it is: its storages are ranges of the file. Calls
    /// `add(pt_entries&) -> result<void>`; not where an entry without bytes stands for none.
    template <class Add>
    result<void> with_archive(const pt_entry& outer, const Add& add) {
        const zip_entry& place = outer.entry;
        if (place.size == 0) {
            return {};
        }
        if (place.is_deflated) {
            return fail(errc::unsupported_encoding,
                        "entry {} is an archive of its own, and deflated: take it out, and open it alone",
                        {in_quotes(outer.name)});
        }
        const range_source source(to_.file.source, place.offset, place.size);
        ZTENSOR_TRY_ASSIGN(const zip_directory inner, zip_directory::read(source, to_.file.options));
        const optional<string_view> folder = find_pt_folder(inner);
        if (!folder) {
            return fail(errc::schema_missing, "entry {} of the archive holds no checkpoint", {in_quotes(outer.name)});
        }
        pt_entries entries(*to_.all, inner, *folder, place.offset);
        return add(entries);
    }

    pt_import& to_;
    pt_entries& entries_;
    bool is_big_endian_ = false;
};

inline result<imported> import_pt_program(const foreign_file& file, const zip_directory& archive, string_view folder) {
    pt_import to(file);
    pt_entries entries(*to.all, archive, folder);
    ZTENSOR_TRY(pt_program(to, entries).add_to_objects());
    return to.objects.finish(std::move(to.all));
}

// -- archives

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_zip(const foreign_file& file) {
    ZTENSOR_TRY_ASSIGN(const zip_directory directory, zip_directory::read(*file.source, file.options));
    if (const optional<string_view> folder = find_pt_folder(directory)) {
        return import_pt(file, directory, *folder, stem_of(path_text(file.path)));
    }
    if (const optional<string_view> folder = find_pt_program(directory)) {
        return import_pt_program(file, directory, *folder);
    }
    if (directory.find(keras_weights) != nullptr) {
        return import_by_option(file, true);
    }
    return import_npz(file, directory);
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_pt_legacy(const foreign_file& file) {
    return pt_legacy_importer(file).import(stem_of(path_text(file.path)));
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_pickle(const foreign_file& file) {
    return plain_pickle_importer(file).import(stem_of(path_text(file.path)));
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_pt_tar(const foreign_file& file) {
    return pt_tar_importer(file).import(stem_of(path_text(file.path)));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
