// SPDX-License-Identifier: MIT
//
// Opening, looking up, verifying, and the digest of all content. Defines what reader.hpp declares. SPEC.md section 9,
// section 13.
#ifndef ZTENSOR_DETAIL_READ_READER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_READER_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/read/file_index.hpp>
#include <ztensor/detail/read/index_audit.hpp>
#include <ztensor/detail/read/joined_files.hpp>
#include <ztensor/detail/read/progress_meter.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/detail/read/verify.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_COLD ZTENSOR_INLINE void join(joined_files& all, problem_list& problems) {
    for (const reader& file : all.files) {
        all.begins.push_back(all.objects.size());
        for (const object_view object : file) {
            const uint32_t twin = all.find(object.name());
            if (twin != name_table::absent) {
                problems.add(fail(errc::duplicate_key, "the object {} is in {}, too",
                                  {in_quotes(object.name()), in_quotes(all.files[all.file_at(twin)].path())})
                                 .in_file(file.path()));
                continue;
            }
            all.objects.push_back(object);
            all.names.add(joined_files::name_of{&all});
        }
    }
}

/// Where there is no memory for the table of names.
[[nodiscard]] ZTENSOR_COLD inline const object_record* find_without_table(const opened_file& file,
                                                                          string_view name) noexcept {
    for (const object_record& each : file.index.objects) {
        if (file.index.text(each.name) == name) {
            return &each;
        }
    }
    return nullptr;
}

[[nodiscard]] inline const object_record* find_object(const opened_file& file, string_view name) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return file.index.find(name);
    } catch (const std::bad_alloc&) {
        return find_without_table(file, name);
    }
#else
    return file.index.find(name);
#endif
}

inline void count_state(verification& answer, const component_view& component, digest_state state) {
    switch (state) {
    case digest_state::match:
        ++answer.verified;
        break;
    case digest_state::mismatch:
        answer.mismatches.push_back(component);
        break;
    case digest_state::absent:
        ++answer.absent;
        break;
    case digest_state::unsupported:
        ++answer.unsupported;
        break;
    }
}

/// Of one file.
ZTENSOR_COLD inline result<void> add_verification(verification& answer, const reader& from, unsigned threads,
                                                  progress_meter& meter) {
    const opened_file& file = reader_access::file_of(from);
    result<verified_parts> found = file.index.version == version::v2 ? verify_all_decoded(file, threads, meter)
                                                                     : verify_stored(file, threads, meter);
    if (!found) {
        return std::move(found).error().in_file(file.path);
    }
    const size_t damaged_before = answer.mismatches.size();
    size_t position = 0;
    for (const object_view object : from) {
        for (const component_view component : object) {
            count_state(answer, component, found->states[position++]);
        }
    }
    return found->broken_rule || answer.mismatches.size() != damaged_before
               ? result<void>()
               : std::move(found->broken_rule).error().in_file(file.path);
}

[[nodiscard]] ZTENSOR_COLD inline error no_object(const opened_file& file, string_view name) noexcept {
    if (file.joined != nullptr) {
        const joined_files& all = *file.joined;
        return no_object_called(name, all.objects.size(), joined_files::name_of{&all}).in_file(file.path);
    }
    const auto name_at = [&](size_t i) { return file.index.name_of(i); };
    return no_object_called(name, file.index.objects.size(), name_at).in_file(file.path);
}

/// What a reader of no file looks at.
struct no_file {
    memory_source nothing{bytes_view()};
    opened_file opened;

    no_file() { opened.source = std::shared_ptr<const byte_source>(std::shared_ptr<void>(), &nothing); }

    [[nodiscard]] static const opened_file& get() {
        static const never_destroyed<no_file> none;
        return none.get().opened;
    }
};

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE reader::reader() noexcept : file_(std::shared_ptr<void>(), &detail::no_file::get()) {
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::open_from(std::shared_ptr<const byte_source> source,
                                                             const read_options& options, std::string path,
                                                             const detail::native_path& root, const file_index* known) {
    auto opened = std::make_shared<detail::opened_file>();
    opened->file_bytes = source->size();
    opened->source = std::move(source);
    opened->options = options;
    opened->path = std::move(path);
    result<void> valid = detail::guard_memory([&]() -> result<void> {
        result<void> done = known != nullptr ? detail::open_indexed(*opened, *known) : detail::open_container(*opened);
        if (done && opened->options.is_strict()) {
            done = detail::check_strictly(*opened);
        }
        done = done ? detail::take_shards(*opened, root) : done;
        ZTENSOR_TRY(std::move(done));
        opened->planes.fill(opened->index);
        return {};
    });
    return opened_as(std::move(opened), std::move(valid));
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::opened_as(std::shared_ptr<detail::opened_file> opened,
                                                             result<void> valid) {
    if (!valid) {
        return std::move(valid).error().in_file(opened->path);
    }
    return reader(std::move(opened));
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::open(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        const detail::native_path native = path.native();
        return detail::read_current([&] { return detail::open_source(path, options); },
                                    [&](const std::shared_ptr<const byte_source>& source) {
                                        return open_from(detail::with_read_ahead(source, options), options,
                                                         detail::path_text(native), native);
                                    });
    });
}

ZTENSOR_INLINE result<reader> reader::from_bytes(bytes_view borrowed, const read_options& options) {
    return detail::guard_memory(
        [&] { return open_from(std::make_shared<detail::memory_source>(borrowed), options, {}); });
}

ZTENSOR_INLINE result<reader> reader::from_bytes(std::vector<std::byte>&& owned, const read_options& options) {
    return detail::guard_memory(
        [&] { return open_from(std::make_shared<detail::memory_source>(std::move(owned)), options, {}); });
}

ZTENSOR_INLINE result<reader> reader::from_source(std::shared_ptr<const byte_source> source,
                                                  const read_options& options) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory(
        [&] { return open_from(detail::with_read_ahead(std::move(source), options), options, {}); });
}

// -- index

ZTENSOR_COLD ZTENSOR_INLINE result<file_index> file_index::from_bytes(std::vector<std::byte> bytes) {
    using layout = detail::file_index_access;
    const bool has_head = bytes.size() >= layout::head_bytes &&
                          detail::as_text(bytes_view(bytes).first(layout::magic.size())) == layout::magic;
    if (!has_head || layout::number_at(bytes, layout::crc_at) != layout::crc_of(bytes) ||
        !layout::for_each_range(bytes, [](std::uint64_t, bytes_view) { return false; })) {
        return detail::fail(errc::invalid_argument, "the {} bytes are not those of a file_index", {bytes.size()})
            .by_caller();
    }
    return detail::guard_memory([&]() -> result<file_index> {
        return file_index(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
    });
}
ZTENSOR_INLINE std::uint64_t file_index::file_bytes() const noexcept {
    return detail::file_index_access::number_at(*bytes_, detail::file_index_access::size_at);
}
ZTENSOR_INLINE std::int64_t file_index::modified_nanoseconds() const noexcept {
    return static_cast<std::int64_t>(
        detail::file_index_access::number_at(*bytes_, detail::file_index_access::modified_at));
}
ZTENSOR_COLD ZTENSOR_INLINE std::string file_index::digest() const {
    return digest_text(ztensor::digest::crc32c, bytes_view(*bytes_).subspan(detail::file_index_access::count_at));
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::from_index(const file_path& path, const file_index& index,
                                                              const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, detail::open_source(path, options));
        source = detail::with_read_ahead(std::move(source), options);
        const detail::native_path native = path.native();
        return open_from(std::move(source), options, detail::path_text(native), native, &index);
    });
}
ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::from_index(std::shared_ptr<const byte_source> source,
                                                              const file_index& index, const read_options& options) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory(
        [&] { return open_from(detail::with_read_ahead(std::move(source), options), options, {}, {}, &index); });
}
ZTENSOR_COLD ZTENSOR_INLINE result<file_index> reader::index() const {
    if (files().size() != 1 || file_->joined != nullptr || file_->index.is_foreign()) {
        return detail::fail(
                   errc::invalid_argument,
                   file_->index.is_foreign()
                       ? "what opening reads of a file of another format is not kept: read it again, by read_index"
                       : "only a single file has an index: ask for that of each")
            .by_caller()
            .in_file(file_->path);
    }
    return detail::in_file(detail::guard_memory([&] { return detail::index_of(*file_); }), file_->path);
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> reader::join(std::vector<reader> files) {
    return detail::guard_memory([&]() -> result<reader> {
        auto all = std::make_shared<detail::joined_files>();
        all->files = std::move(files);
        detail::problem_list problems;
        detail::join(*all, problems);
        return problems.empty() ? detail::reader_access::make(std::move(all), {})
                                : result<reader>(detail::set_problems(problems));
    });
}

ZTENSOR_INLINE const detail::opened_file& detail::reader_access::file_of(const reader& from) noexcept {
    return *from.file_;
}
ZTENSOR_COLD ZTENSOR_INLINE reader detail::reader_access::make(std::shared_ptr<const joined_files> joined,
                                                               string path) {
    auto opened = std::make_shared<opened_file>();
    opened->source = std::make_shared<memory_source>(bytes_view());
    opened->path = std::move(path);
    opened->skipped = joined->skipped;
    for (const reader& each : joined->files) {
        opened->file_bytes += each.file_bytes();
        opened->skipped.insert(opened->skipped.end(), each.skipped().begin(), each.skipped().end());
    }
    opened->joined = std::move(joined);
    return reader(std::move(opened));
}

ZTENSOR_COLD ZTENSOR_INLINE void detail::reader_access::keep_objects(const reader& of, const vector<bool>& is_kept) {
    if (std::find(is_kept.begin(), is_kept.end(), false) != is_kept.end()) {
        const_cast<opened_file&>(*of.file_).index.keep_objects(is_kept); // no opened_file is made const
    }
}

ZTENSOR_COLD ZTENSOR_INLINE result<void> detail::check_is_of(const reader& model, const object_view& object) {
    const opened_file& file = object_access::file_of(object);
    for (const reader& each : model.files()) {
        if (&reader_access::file_of(each) == &file) {
            return {};
        }
    }
    return object.is_present() ? object_access::located(object, another_reader()) : result<void>();
}

ZTENSOR_INLINE span<const reader> reader::files() const& noexcept {
    return file_->joined != nullptr ? span<const reader>(file_->joined->files)
                                    : span<const reader>(this, is_open() ? 1 : 0);
}
ZTENSOR_INLINE result<std::size_t> reader::file_of(std::string_view name) const {
    if (file_->joined != nullptr) {
        const std::uint32_t found = file_->joined->find(name);
        return found != detail::name_table::absent ? result<std::size_t>(file_->joined->file_at(found))
                                                   : detail::no_object(*file_, name);
    }
    return contains(name) ? result<std::size_t>(std::size_t{0}) : detail::no_object(*file_, name);
}
ZTENSOR_INLINE open_word<ztensor::version> reader::version() const noexcept {
    const detail::manifest& index = file_->index;
    const std::string_view original = index.text(index.version_text);
    return file_->joined != nullptr || index.is_foreign()
               ? open_word<ztensor::version>()
               : open_word<ztensor::version>(index.version, name(index.version), original);
}
ZTENSOR_INLINE open_word<container_kind> reader::container() const noexcept {
    const container_kind kind = file_->index.container;
    return file_->joined != nullptr ? open_word<container_kind>() : open_word<container_kind>(kind, name(kind), {});
}
ZTENSOR_INLINE const std::string& reader::path() const& noexcept {
    return file_->path;
}
ZTENSOR_INLINE const std::vector<skipped_item>& reader::skipped() const& noexcept {
    return file_->skipped;
}
ZTENSOR_INLINE bool reader::is_data_shard() const noexcept {
    return file_->index.is_data_shard;
}
ZTENSOR_INLINE std::uint64_t reader::file_bytes() const noexcept {
    return file_->file_bytes;
}
ZTENSOR_INLINE std::uint64_t reader::manifest_bytes() const noexcept {
    const detail::manifest& index = file_->index;
    const std::uint64_t records = detail::bytes_of_records(index.objects, index.components);
    std::uint64_t bytes = index.bytes().size() + (index.is_foreign() ? records : 0); // of what an importer made, both
    for (std::size_t i = 0; file_->joined != nullptr && i < file_->joined->files.size(); ++i) {
        bytes += file_->joined->files[i].manifest_bytes();
    }
    return bytes;
}
ZTENSOR_INLINE bool reader::is_mapped() const noexcept {
    if (file_->joined == nullptr) {
        return detail::source_access::is_mapped(*file_->source);
    }
    const std::vector<reader>& files = file_->joined->files;
    return std::all_of(files.begin(), files.end(), [](const reader& each) { return each.is_mapped(); });
}
ZTENSOR_INLINE bool reader::has_attributes() const noexcept {
    return file_->index.has_attributes;
}
ZTENSOR_INLINE attributes_view reader::attributes() const& noexcept {
    const detail::manifest& index = file_->index;
    return detail::attributes_access::make(index.has_attributes ? index.from(index.attributes) : bytes_view(), {},
                                           {file_.get(), nullptr, detail::name_place_of_attributes});
}

ZTENSOR_INLINE object_view reader::iterator::operator*() const noexcept {
    return file_->joined != nullptr ? file_->joined->objects[position_]
                                    : object_view(*file_, file_->index.objects[position_]);
}
ZTENSOR_INLINE std::size_t reader::size() const noexcept {
    return file_->joined != nullptr ? file_->joined->objects.size() : file_->index.objects.size();
}

ZTENSOR_INLINE object_view reader::operator[](std::string_view name) const& noexcept {
    if (file_->joined != nullptr) {
        const std::uint32_t found = file_->joined->find(name);
        return found != detail::name_table::absent ? file_->joined->objects[found]
                                                   : object_view(*file_, detail::no_object(*file_, name));
    }
    if (const detail::object_record* const found = detail::find_object(*file_, name)) {
        return {*file_, *found};
    }
    return {*file_, detail::no_object(*file_, name)};
}

ZTENSOR_INLINE result<object_view> reader::find(std::string_view name) const& {
    object_view found = (*this)[name];
    return found.found_ ? result<object_view>(std::move(found)) : found.found_.error();
}

ZTENSOR_INLINE bool reader::contains(std::string_view name) const noexcept {
    return file_->joined != nullptr ? file_->joined->find(name) != detail::name_table::absent
                                    : detail::find_object(*file_, name) != nullptr;
}

ZTENSOR_INLINE result<verification> reader::verify(unsigned threads, const progress_function& progress) const& {
    return detail::guard_memory([&]() -> result<verification> {
        detail::progress_meter meter(progress);
        for (const reader& each : files()) {
            detail::expect_verified(*each.file_, meter);
        }
        verification answer;
        result<void> done;
        for (std::size_t i = 0; done && i < files().size(); ++i) {
            done = detail::add_verification(answer, files()[i], threads, meter);
        }
        ZTENSOR_TRY(meter.end());
        ZTENSOR_TRY(std::move(done));
        meter.finish();
        return answer;
    });
}

// -- content digest
//
// The manifest without its places -> one digest. SPEC.md section 13.

namespace detail {

inline void encode_content_of(cbor_encoder& out, const component_view& part) {
    const bool has_type = component_access::has_type_word(part);
    out.begin_map(has_type ? 3 : 2);
    if (has_type) {
        out.text("type");
        out.text(component_access::type_word_of(part));
    }
    out.text("dtype");
    out.text(part.dtype().text());
    out.text("digest");
    out.text(part.digest().text());
}

/// Errors: not_expressible.
inline result<void> encode_content_of(cbor_encoder& out, const object_view& object) {
    const vector<component_view> parts(object.begin(), object.end());
    for (const component_view& part : parts) {
        if (!part.digest().is_present()) {
            return fail(errc::not_expressible, "it has no digest, so that the file has no content digest")
                .in_object(object.name())
                .in_component(part.role());
        }
    }
    out.text(object.name());
    out.begin_map(object.has_attributes() ? 4 : 3);
    out.text("parts");
    out.begin_map(parts.size());
    for_each_in_key_order(
        parts.size(), [&](uint32_t i) { return parts[i].role(); },
        [&](uint32_t i) {
            out.text(parts[i].role());
            encode_content_of(out, parts[i]);
        });
    const shape dimensions = object.shape();
    out.text("shape");
    out.begin_array(dimensions.rank());
    for (const uint64_t dimension : dimensions) {
        out.unsigned_integer(dimension);
    }
    out.text("layout");
    out.text(object_access::format_word_of(object));
    if (object_access::has_stored_attributes(object)) {
        out.text("attributes");
        encode_attributes_2(out, attributes(object_access::stored_attributes_of(object)));
    }
    return {};
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> content_digest(const reader& of, digest algorithm) {
    return detail::guard_memory([&]() -> result<std::string> {
        if (algorithm != digest::xxh3 && algorithm != digest::sha256) {
            return detail::fail(errc::invalid_argument, "a content digest is one of xxh3 or sha256");
        }
        if (!can_compute(algorithm)) {
            return detail::require_xxh3().error();
        }
        if (of.version() != version::v2) {
            return detail::fail(errc::not_expressible,
                                "only files of version 2 have a content digest: copy() this one to version 2");
        }
        if (of.is_data_shard()) {
            return detail::fail(errc::not_expressible, "a data shard does not say what it holds: its root does");
        }
        const std::vector<object_view> objects(of.begin(), of.end());
        digester hash(algorithm);
        detail::cbor_encoder text;
        text.begin_array(2);
        text.text("zt.content/1");
        text.begin_map(objects.size());
        result<void> encoded;
        detail::for_each_in_key_order(
            objects.size(), [&](std::uint32_t i) { return objects[i].name(); },
            [&](std::uint32_t i) {
                encoded = encoded ? detail::encode_content_of(text, objects[i]) : std::move(encoded);
                hash.update(text.bytes());
                text.clear();
            });
        hash.update(text.bytes()); // of a file without objects
        return encoded ? result<std::string>(hash.text()) : std::move(encoded).error();
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
