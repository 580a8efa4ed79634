// SPDX-License-Identifier: MIT
#include "rewriting.hpp"

#include "command.hpp"
#include "input.hpp"
#include "numbers.hpp"
#include "terminal.hpp"

#include <ztensor/visit.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zt {

bool is_floating(const ztensor::component_view& part) {
    const std::optional<ztensor::dtype> storage = part.dtype().known();
    const bool is_exponent = part.type().text() == "f8_e8m0"; // which only version 2 knows by itself
    const bool is_float8 = is_exponent || (part.type().is_known() && part.type().text().substr(0, 3) == "f8_");
    const bool is_narrow = ztensor::find_narrow_type(part.type().text()) != nullptr;
    const bool is_plain = part.type().text().empty();
    return (storage == ztensor::dtype::u8 && (is_float8 || is_narrow)) ||
           (is_plain && storage && facts(*storage).category == ztensor::dtype_class::floating);
}

namespace {

ztensor::digest algorithm_of(const std::string& name) {
    static const std::map<std::string, ztensor::digest> known = {
        {"", ztensor::digest::none}, {"sha256", ztensor::digest::sha256}, {"crc32c", ztensor::digest::crc32c}};
    return known.at(name);
}

/// That of the same kind which files of the version have.
ztensor::digest digest_like(std::string_view old_digest, ztensor::format_version version) {
    if (old_digest.substr(0, 7) == "sha256:") {
        return ztensor::digest::sha256;
    }
    const bool is_light = old_digest.substr(0, 7) == "crc32c:" || old_digest.substr(0, 5) == "xxh3:";
    return is_light && version != ztensor::format_version::v2 ? ztensor::digest::crc32c : ztensor::digest::none;
}

/// As asked for, and for the rest as it was.
ztensor::store store_for(const ztensor::component_view& part, const rewriting& how, ztensor::format_version version) {
    ztensor::store store;
    if (how.zstd_level) {
        store.zstd_if_smaller(*how.zstd_level);
    } else if (!how.plain && part.encoding() != ztensor::encoding::raw) {
        store.zstd();
    }
    store.digest(how.digest.empty() ? digest_like(part.digest().text(), version) : algorithm_of(how.digest));
    return store;
}

/// A floating-point type by its name, of which no values are known.
bool is_unknown_float(const ztensor::component_view& part) {
    const std::string_view type = part.dtype().is_known() ? part.type().text() : part.dtype().text();
    const std::size_t digit = type.substr(0, 2) == "bf" ? 2 : type.substr(0, 1) == "f" ? 1 : type.size();
    const bool has_name_of_float = digit < type.size() && type[digit] >= '0' && type[digit] <= '9';
    const bool is_unknown = !part.dtype().is_known() || (part.type().is_present() && !part.type().is_known());
    return is_unknown && has_name_of_float && !is_floating(part);
}

template <class To, class From>
std::vector<To> rounded(ztensor::span<const From> numbers) {
    std::vector<To> out;
    out.reserve(numbers.size());
    for (const From each : numbers) {
        if constexpr (std::is_same_v<From, To>) {
            out.push_back(each);
        } else {
            out.push_back(static_cast<To>(static_cast<double>(each)));
        }
    }
    return out;
}

/// Words of which a writer of new data knows all.
bool can_be_written_anew(const ztensor::object_view& object) {
    for (const ztensor::component_view part : object) {
        const bool has_unknown_type = part.type().is_present() && !part.type().is_known();
        if (!part.dtype().is_known() || !part.encoding().is_known() || has_unknown_type) {
            return false;
        }
    }
    return true;
}

class rewriter {
public:
    rewriter(const ztensor::reader& from, ztensor::writer& to, const selection& selected, const rewriting& how)
        : from_(from), to_(to), selected_(selected), how_(how), floats_as_(how.floats_as()) {
        for (const ztensor::object_view object : from) {
            total_bytes_ += selected.takes(object) ? stored_bytes_of(object) : 0;
        }
    }

    /// First what stays as it is stored, in the order of the blobs; then the others, one after the other.
    void run() {
        for (const ztensor::object_view object : from_) {
            if (selected_.takes(object)) {
                refuse_unknown_floats(object);
            }
        }
        auto copied = ztensor::copy(
            from_, to_,
            ztensor::copy_options()
                .select([&](const ztensor::object_view& object) { return selected_.takes(object) && !changes(object); })
                .rename([&](std::string_view name) { return selected_.name_for(name); })
                .file_attributes(!how_.drops_file_attributes)
                .progress([&](const ztensor::copy_progress& progress) {
                    progress_.show(progress.done_bytes, total_bytes_, progress.object);
                    done_bytes_ = progress.done_bytes;
                    return true;
                }));
        if (!copied) {
            throw ztensor::exception(with_way_out(std::move(copied).error(), from_));
        }
        for (const ztensor::object_view object : from_) {
            if (selected_.takes(object) && changes(object)) {
                rewrite(object);
                done_bytes_ += stored_bytes_of(object);
            }
        }
    }

private:
    /// Blocks of integers with their scales, as other formats have them, can become floats.
    [[nodiscard]] bool is_foreign_quantized(const ztensor::object_view& object) const {
        return floats_as_ && !object.format().known() && object.format().text().substr(0, 5) == "gguf.";
    }

    /// Elements that --dtype turns into others.
    [[nodiscard]] bool converts(const ztensor::component_view& part) const {
        return floats_as_ && is_floating(part) && (part.dtype() != *floats_as_ || !part.type().text().empty());
    }
    /// The same of an object.
    [[nodiscard]] bool converts(const ztensor::object_view& object) const {
        const auto elements = is_sparse(object) ? values_of(object) : elements_of(object);
        return elements && object.format().known() && converts(*elements);
    }

    void refuse_unknown_floats(const ztensor::object_view& object) const {
        if (floats_as_ && !object.format().known() && !is_foreign_quantized(object)) {
            throw content_error("--dtype can't turn " + printable(object.name()) + " into " + how_.dtype +
                                ": what its format, " + printable(object.format().text()) +
                                ", means is not known; --exclude leaves it out");
        }
        const auto elements = elements_of(object);
        if (floats_as_ && elements && is_unknown_float(*elements)) {
            throw content_error("--dtype can't turn " + printable(object.name()) + " into " + how_.dtype +
                                ": the values of its type, " + printable(type_of(*elements)) +
                                ", are not known; --exclude leaves it out");
        }
    }

    [[nodiscard]] bool changes(const ztensor::object_view& object) const {
        if (is_foreign_quantized(object) || how_.dequantizes(object) || converts(object)) {
            return true;
        }
        if (!can_be_written_anew(object)) {
            return false;
        }
        return how_.zstd_level || !how_.digest.empty() || (how_.plain && is_packed(object)) || gets_planes(object);
    }

    /// What --plain stores otherwise.
    [[nodiscard]] static bool is_packed(const ztensor::object_view& object) {
        for (const ztensor::component_view part : object) {
            if (part.encoding() != ztensor::encoding::raw) {
                return true;
            }
        }
        return object.is_in_planes();
    }

    /// What --planes stores otherwise.
    [[nodiscard]] bool gets_planes(const ztensor::object_view& object) const {
        const bool has_planes = object.dtype() == ztensor::dtype::bf16 || object.dtype() == ztensor::dtype::f16 ||
                                object.dtype() == ztensor::dtype::f32;
        return how_.planes && has_planes && !object.is_in_planes();
    }

    void rewrite(const ztensor::object_view& object) {
        if (is_foreign_quantized(object)) {
            return rewrite_as_floats(object);
        }
        if (how_.dequantizes(object)) {
            return rewrite_dequantized(object);
        }
        if (object.format() == ztensor::format::dense) {
            return rewrite_dense(object);
        }
        if (is_sparse(object) && to_.version() == ztensor::format_version::v0_1) {
            return rewrite_in_one_blob(object);
        }
        if (!has_other_words()) {
            return rewrite_parts(object);
        }
        const auto alone = in_words_of_new_file(object);
        rewrite_parts(alone.find(object.name()).value());
    }

    /// Layouts of several components are called otherwise in the new file, or have other components.
    [[nodiscard]] bool has_other_words() const {
        const bool is_of_2 = from_.version() == ztensor::version::v2;
        const bool becomes_2 = to_.version() == ztensor::format_version::v2;
        return is_of_2 != becomes_2 || from_.version() == ztensor::version::v0_1;
    }

    /// A file in memory with that object alone.
    [[nodiscard]] ztensor::reader in_words_of_new_file(const ztensor::object_view& object) const {
        auto memory = ztensor::writer::to_memory(ztensor::write_options().version(to_.version())).value();
        const auto is_it = [&](const ztensor::object_view& each) { return each.name() == object.name(); };
        ztensor::copy(from_, memory, ztensor::copy_options().file_attributes(false).select(is_it)).value();
        memory.finish().value();
        return ztensor::reader::from_bytes(memory.take_bytes()).value();
    }

    void rewrite_parts(const ztensor::object_view& object) {
        std::deque<std::vector<std::byte>> memory; // a draft borrows it
        ztensor::object_draft draft(object.format().text(), object.shape());
        if (object.has_attributes()) {
            draft.attributes(ztensor::attributes(object.attributes()));
        }
        for (const ztensor::component_view part : object) {
            const bool turns = part.role() == "values" && converts(part);
            const ztensor::store store = store_for(part, how_, to_.version());
            memory.push_back(turns ? converted(part) : part.read_little_endian().value());
            draft.component_bytes(part.role(), turns ? *floats_as_ : *part.dtype().known(), memory.back(),
                                  turns ? store : ztensor::store(store).type(part.type().text()));
        }
        to_.add_object(selected_.name_for(object.name()), draft).value();
        progress_.show(done_bytes_, total_bytes_, object.name());
    }

    [[nodiscard]] std::vector<std::byte> converted(const ztensor::component_view& part) const {
        auto pieces = ztensor::component_pieces::open_as(part, *floats_as_).value();
        std::vector<std::byte> all;
        for (;;) {
            const ztensor::bytes_view piece = pieces.next().value();
            if (piece.empty()) {
                return all;
            }
            all.insert(all.end(), piece.begin(), piece.end());
        }
    }

    /// As 0.1 keeps a sparse tensor.
    void rewrite_in_one_blob(const ztensor::object_view& object) {
        const ztensor::component_view values = values_of(object).value();
        ztensor::visit_type(values, [&](auto type) {
            using From = typename decltype(type)::type;
            if (!converts(values)) {
                return write_in_one_blob<From, From>(object);
            }
            if constexpr (std::is_constructible_v<double, From>) {
                *floats_as_ == ztensor::dtype::f16    ? write_in_one_blob<From, ztensor::float16>(object)
                : *floats_as_ == ztensor::dtype::bf16 ? write_in_one_blob<From, ztensor::bfloat16>(object)
                                                      : write_in_one_blob<From, float>(object);
            }
        }).value();
    }

    template <class From, class To>
    void write_in_one_blob(const ztensor::object_view& object) {
        const std::string name = selected_.name_for(object.name());
        const ztensor::store store = store_for(values_of(object).value(), how_, to_.version());
        const ztensor::attributes kept(object.attributes());
        const auto about = object.has_attributes() ? ztensor::object_attributes(kept) : ztensor::object_attributes();
        if (object.format() == ztensor::format::sparse_csr) {
            const auto parts = ztensor::csr_view<From>::read(object).value();
            to_.add_csr(name, object.shape(), rounded<To>(parts.values()), parts.indices(), parts.indptr(), store,
                        about)
                .value();
        } else {
            const auto parts = ztensor::coo_view<From>::read(object).value();
            to_.add_coo(name, object.shape(), rounded<To>(parts.values()), parts.coords(), store, about).value();
        }
        progress_.show(done_bytes_, total_bytes_, object.name());
    }

    void rewrite_dense(const ztensor::object_view& object) {
        const ztensor::component_view data = object.data().value();
        const bool turns = converts(data);
        auto pieces = turns ? ztensor::component_pieces::open_as(data, *floats_as_).value()
                            : ztensor::component_pieces::open(data).value();
        ztensor::store store = store_for(data, how_, to_.version());
        if (how_.planes || (object.is_in_planes() && !how_.plain && !how_.zstd_level)) {
            store.planes_if_smaller();
        }
        if (!turns && data.type().is_present()) {
            store.type(data.type().text());
        }
        std::optional<ztensor::attributes> attributes;
        if (object.has_attributes()) {
            attributes.emplace(object.attributes());
        }
        const ztensor::dtype storage = turns ? *floats_as_ : *data.dtype().known();
        if (!turns && store.is_in_planes() && data.decoded_bytes().value_or(~std::uint64_t{0}) <= most_bytes_at_once) {
            return add_at_once(object, data, store, attributes);
        }
        write_stream(object, pieces, storage, store, attributes);
    }

    /// So that what is smallest can be found out: a stream does not know what is to come.
    void add_at_once(const ztensor::object_view& object, const ztensor::component_view& data,
                     const ztensor::store& store, const std::optional<ztensor::attributes>& attributes) {
        const auto about = attributes ? ztensor::object_attributes(*attributes) : ztensor::object_attributes();
        const std::vector<std::byte> bytes = data.read_little_endian().value();
        to_.add_bytes(selected_.name_for(object.name()), object.shape(), *data.dtype().known(), bytes, store, about)
            .value();
        progress_.show(done_bytes_ + stored_bytes_of(object), total_bytes_, object.name());
    }

    /// How converted values are stored.
    [[nodiscard]] ztensor::store store_for_floats() const {
        ztensor::store store;
        if (how_.zstd_level) {
            store.zstd_if_smaller(*how_.zstd_level);
        } else if (how_.planes) {
            store.planes_if_smaller();
        }
        return store.digest(algorithm_of(how_.digest));
    }
    [[nodiscard]] static std::optional<ztensor::attributes> attributes_kept(const ztensor::object_view& object) {
        ztensor::attributes kept = without_layout(object);
        return kept.values().empty() ? std::nullopt : std::optional(std::move(kept));
    }

    void rewrite_as_floats(const ztensor::object_view& object) {
        auto pieces = ztensor::component_pieces::open_as(object, *floats_as_).value();
        write_stream(object, pieces, *floats_as_, store_for_floats(), attributes_kept(object));
    }

    void rewrite_dequantized(const ztensor::object_view& object) {
        const std::vector<float> weights = dequantized(object).value();
        switch (*floats_as_) {
        case ztensor::dtype::f16:
            return write_dense(object, rounded<ztensor::float16>(ztensor::span<const float>(weights)));
        case ztensor::dtype::bf16:
            return write_dense(object, rounded<ztensor::bfloat16>(ztensor::span<const float>(weights)));
        default:
            return write_dense(object, weights);
        }
    }

    template <class Float>
    void write_dense(const ztensor::object_view& object, const std::vector<Float>& elements) {
        auto stream =
            to_.stream(selected_.name_for(object.name()), object.shape(), *floats_as_, store_for_floats()).value();
        if (const auto kept = attributes_kept(object)) {
            stream.attributes(*kept).value();
        }
        stream.append(ztensor::span<const Float>(elements)).value();
        stream.finish().value();
        progress_.show(done_bytes_, total_bytes_, object.name());
    }

    void write_stream(const ztensor::object_view& object, ztensor::component_pieces& pieces, ztensor::dtype storage,
                      const ztensor::store& store, const std::optional<ztensor::attributes>& attributes) {
        auto stream = to_.stream(selected_.name_for(object.name()), object.shape(), storage, store).value();
        if (attributes) {
            stream.attributes(*attributes).value();
        }
        const std::uint64_t missing = stream.missing_bytes();
        for (;;) {
            const ztensor::bytes_view piece = pieces.next().value();
            if (piece.empty()) {
                break;
            }
            stream.append_bytes(piece).value();
            const double share = 1 - static_cast<double>(stream.missing_bytes()) / static_cast<double>(missing);
            const auto done = static_cast<std::uint64_t>(share * static_cast<double>(stored_bytes_of(object)));
            progress_.show(done_bytes_ + done, total_bytes_, object.name());
        }
        stream.finish().value();
    }

    static constexpr std::uint64_t most_bytes_at_once = std::uint64_t{1} << 30;

    const ztensor::reader& from_;
    ztensor::writer& to_;
    const selection& selected_;
    const rewriting& how_;
    std::optional<ztensor::dtype> floats_as_;
    std::uint64_t total_bytes_ = 0;
    std::uint64_t done_bytes_ = 0;
    progress_line progress_;
};

} // namespace

ztensor::error with_way_out(ztensor::error why, const ztensor::reader& from) {
    if (why.code() == ztensor::errc::name_invalid) { // of other formats; an empty name is not told as that of an object
        const char* const advice = why.object().empty() ? "; give that of \"\" another one: --rename =NAME"
                                                        : "; give it another one: --rename OLD=NEW";
        return ztensor::error(why.code(), std::string(why.sentence()) + advice)
            .in_object(why.object())
            .in_file(why.path());
    }
    const auto object = from.find(why.object());
    const auto elements = object ? object->data() : ztensor::result<ztensor::component_view>(object.error());
    if (why.code() != ztensor::errc::not_expressible || !elements || !is_floating(*elements)) {
        return why;
    }
    return ztensor::error(why.code(), why.sentence() + "; --dtype f32 turns it into f32")
        .in_object(why.object())
        .in_file(why.path());
}

const std::map<std::string, ztensor::format_version>& versions() {
    static const std::map<std::string, ztensor::format_version> all = {{"0.1", ztensor::format_version::v0_1},
                                                                       {"1.1", ztensor::format_version::v1_1},
                                                                       {"1.2", ztensor::format_version::v1_2},
                                                                       {"2", ztensor::format_version::v2}};
    return all;
}

void add_version_option(CLI::App& command, std::string& version, const std::string& by_default) {
    command
        .add_option("--version", version,
                    "The version of the format: 0.1, 1.1, 1.2 or 2; " + by_default + " unless given")
        ->type_name("VERSION")
        ->check(CLI::IsMember(versions()));
}

ztensor::format_version version_like(const ztensor::reader& file) {
    const auto found = versions().find(std::string(file.version().text()));
    return found == versions().end() ? ztensor::format_version::v1_2 : found->second;
}

void rewriting::add_options(CLI::App& command) {
    command
        .add_option("--zstd", zstd_level,
                    "Compress what gets smaller by it; LEVEL from -7 to 22, and 1 for --zstd alone")
        ->type_name("[=LEVEL]")
        ->check(CLI::Range(-7, 22));
    command.add_flag("--planes", planes,
                     "Store bf16, f16 and f32 without loss in 0.67 to 0.85 of their size: exponents compressed, apart "
                     "from the rest");
    command.add_flag("--plain", plain, "Store everything as it is in memory, to be viewed: the reverse of both");
    command
        .add_option("--digest", digest, "Write a digest of each blob: sha256, which --digest alone means, or crc32c")
        ->type_name("[=ALGORITHM]")
        ->check(CLI::IsMember({"sha256", "crc32c"}));
    command
        .add_option(
            "--dtype", dtype,
            "Turn floating-point tensors, and integers narrower than a byte, into f32, bf16 or f16, rounded to nearest")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"f32", "bf16", "f16"}));
}

void rewriting::check() const {
    if ((zstd_level ? 1 : 0) + (planes ? 1 : 0) + (plain ? 1 : 0) > 1) {
        throw usage_error("of --zstd, --planes and --plain one can be chosen");
    }
}

std::optional<ztensor::dtype> rewriting::floats_as() const {
    return dtype.empty() ? std::nullopt : ztensor::find_dtype(dtype);
}

bool rewriting::dequantizes(const ztensor::object_view& object) const {
    const auto format = object.format().known();
    return !dtype.empty() && (format == ztensor::format::quantized_group || format == ztensor::format::mx);
}

void add_objects(const ztensor::reader& from, ztensor::writer& to, const selection& selected, const rewriting& how) {
    how.check();
    rewriter(from, to, selected, how).run();
}

} // namespace zt
