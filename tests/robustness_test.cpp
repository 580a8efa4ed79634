// SPDX-License-Identifier: MIT
//
// Files that were cut, changed at every byte, or made to exhaust a reader: each is refused, or opens and can be walked
// without leaving its memory; on little stack, and in memory that its index bounds.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ZTENSOR_TESTS_ARE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ZTENSOR_TESTS_ARE_SANITIZED 1
#endif
#endif

namespace {

using support::bytes;
using support::sample;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::generation;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

} // namespace

// ---- counted memory: of the whole program, but in sanitizer builds, whose runtime does its own book-keeping

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED)

namespace {

constexpr bool counts_memory = true;
std::atomic<std::size_t> bytes_held{0};
std::atomic<std::size_t> most_bytes_held{0};
std::atomic<std::size_t> allocations_before_failure{0}; ///< the one that makes it 0 fails; at 0 none does

constexpr std::size_t count_bytes = alignof(std::max_align_t); // before each block stands its size

void* counted_allocation(std::size_t size) noexcept {
    const bool fails = allocations_before_failure != 0 && --allocations_before_failure == 0;
    if (fails || size > std::numeric_limits<std::size_t>::max() - count_bytes) {
        return nullptr;
    }
    auto* const block = static_cast<std::byte*>(std::malloc(size + count_bytes));
    if (block == nullptr) {
        return nullptr;
    }
    ::new (block) std::size_t(size);
    const std::size_t held = bytes_held += size;
    std::size_t most = most_bytes_held;
    while (held > most && !most_bytes_held.compare_exchange_weak(most, held)) {
    }
    return block + count_bytes;
}

void counted_release(void* pointer) noexcept {
    if (pointer == nullptr) {
        return;
    }
    std::byte* const block = static_cast<std::byte*>(pointer) - count_bytes;
    bytes_held -= *std::launder(static_cast<std::size_t*>(static_cast<void*>(block)));
    std::free(block);
}

} // namespace

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 // which at -O3 sees one half of a pair inlined
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
// The forms for larger alignments stay the library's own, and uncounted.
void* operator new(std::size_t size) {
    if (void* const pointer = counted_allocation(size)) {
        return pointer;
    }
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void operator delete(void* pointer) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer) noexcept {
    counted_release(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
    counted_release(pointer);
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
    counted_release(pointer);
}

#else

namespace {

constexpr bool counts_memory = false;
std::atomic<std::size_t> bytes_held{0};
std::atomic<std::size_t> most_bytes_held{0};

} // namespace

#endif

namespace {

/// Memory that `work` takes: in all at its worst moment, and what `work` still holds through what it returned.
struct memory_use {
    std::size_t most = 0;
    std::size_t held = 0;
};

template <class Work>
memory_use measure(Work&& work) {
    const std::size_t before = bytes_held;
    most_bytes_held = before;
    const auto kept = work();
    return {most_bytes_held - before, bytes_held - before};
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// ---- little stack

#if defined(ZTENSOR_TESTS_ARE_SANITIZED)
constexpr std::size_t stack_bytes = mebibyte; // its frames are many times larger
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif

/// Runs `work`, which makes no assertion, on a thread of its own with a stack of `stack_bytes`.
void on_little_stack(std::function<void()> work) {
#if defined(_WIN32)
    std::thread(std::move(work)).join();
#else
    const auto run = [](void* argument) -> void* {
        (*static_cast<std::function<void()>*>(argument))();
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_t thread;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
    REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
#endif
}

// ---- walking an open file

/// True if `inner` lies in `outer`; an empty one may lie anywhere.
bool lies_in(bytes_view outer, const void* inner, std::size_t size) {
    const auto* const start = static_cast<const std::byte*>(inner);
    const std::less_equal<const std::byte*> not_behind;
    return size == 0 || (not_behind(outer.begin(), start) && not_behind(start + size, outer.end()));
}

template <class T>
bool view_lies_in(bytes_view file, const ztensor::component_view& component) {
    const result<ztensor::span<const T>> view = component.view<T>();
    return !view || (lies_in(file, view->data(), view->size_bytes()) && view->size_bytes() == component.stored_bytes());
}

std::atomic<std::size_t> sum_of_all_read{0}; // so that no compiler leaves a read out

/// Reads every byte of all attributes, and asks for each as everything it could be.
void walk_attributes(ztensor::attributes_view attributes) {
    std::size_t seen = 0;
    for (const ztensor::attribute& each : attributes) {
        seen += each.key.size() + each.cbor.size();
        for (const std::byte byte : each.cbor) {
            seen += std::to_integer<std::size_t>(byte);
        }
    }
    for (const ztensor::attribute& each : attributes) {
        seen += attributes.contains(each.key) ? 1 : 0;
        seen += attributes.integer(each.key).has_value() + attributes.number(each.key).has_value() +
                attributes.boolean(each.key).has_value() + attributes.text(each.key).has_value() +
                attributes.byte_string(each.key).has_value();
    }
    sum_of_all_read += seen;
}

/// Everything a component offers. False if a view leaves the file.
bool walk_component(bytes_view file, const ztensor::component_view& component) {
    const result<bytes_view> stored = component.bytes();
    const bool is_inside =
        stored && stored->size() == component.stored_bytes() && lies_in(file, stored->data(), stored->size()) &&
        view_lies_in<std::byte>(file, component) && view_lies_in<std::uint8_t>(file, component) &&
        view_lies_in<std::int16_t>(file, component) && view_lies_in<float>(file, component) &&
        view_lies_in<double>(file, component) && view_lies_in<std::uint64_t>(file, component) &&
        view_lies_in<ztensor::bfloat16>(file, component) && view_lies_in<std::complex<float>>(file, component);
    const result<std::vector<std::byte>> decoded = component.read<std::byte>();
    const bool is_whole = !decoded || decoded->size() == component.decoded_bytes().value_or(decoded->size());
    static_cast<void>(component.read<float>());
    static_cast<void>(component.read<bool>());
    static_cast<void>(component.read_as<float>());
    static_cast<void>(component.verify());
    return is_inside && is_whole;
}

/// Everything there is in an open file. False if something of it is not in the file's memory.
bool walk(bytes_view content, const reader& file) {
    bool is_sound = true;
    walk_attributes(file.attributes());
    for (const ztensor::object_view object : file) {
        is_sound = is_sound && file.find(object.name()).has_value() && object.shape().rank() <= ztensor::max_rank;
        walk_attributes(object.attributes());
        for (const ztensor::component_view component : object) {
            is_sound = is_sound && walk_component(content, component);
        }
        static_cast<void>(object.read_rows<float>(0, 1));
    }
    return is_sound;
}

enum class outcome { refused, walked, unsound };

/// Decodes no more than 64 KiB at once: a length that was changed must not make the tests slow.
outcome open_and_walk(bytes_view content) {
    const result<reader> file = reader::from_bytes(content, read_options().max_decoded_bytes(64 * 1024));
    if (!file) {
        return file.error().what().empty() ? outcome::unsound : outcome::refused;
    }
    return walk(content, *file) ? outcome::walked : outcome::unsound;
}

// ---- golden files

struct golden_file {
    std::string name;
    std::vector<std::byte> content;
};

std::vector<std::byte> golden(std::string_view name) { // the tests run in the top folder
    return support::to_vector(support::read_file(std::filesystem::path("tests/corpus/golden") / name));
}

/// Those of at most `max_bytes`.
std::vector<golden_file> golden_files(std::size_t max_bytes) {
    std::vector<golden_file> found;
    for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/golden")) {
        if (entry.path().extension() == ".zt" && entry.file_size() <= max_bytes) {
            const std::string name = entry.path().filename().string();
            found.push_back({name, golden(name)});
        }
    }
    REQUIRE(found.size() >= 20);
    return found;
}

std::uint64_t little_endian_at(const std::vector<std::byte>& content, std::size_t position) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) {
        value = value << 8 | std::to_integer<std::uint64_t>(content[position + i]);
    }
    return value;
}

/// Where the index starts, and behind it the footer.
std::size_t index_start(const std::vector<std::byte>& content) {
    const std::vector<std::byte> magic = support::to_vector(support::magic_1);
    const bool has_magic = std::equal(magic.begin(), magic.end(), content.end() - 8);
    const std::size_t size_field = content.size() - (has_magic ? 16 : 8);
    return size_field - static_cast<std::size_t>(little_endian_at(content, size_field));
}

} // namespace

TEST_CASE("every golden file opens and can be walked on little stack") {
    for (const golden_file& file : golden_files(4 * mebibyte)) {
        CAPTURE(file.name);
        outcome found = outcome::refused;
        on_little_stack([&] { found = open_and_walk(file.content); });
        CHECK(found == outcome::walked);
    }
}

TEST_CASE("every prefix of a file is refused") {
    for (const std::string_view name : {"v0.1-dense.zt", "v1.0-dense.zt", "s1.2-cbor-forms.zt"}) {
        const std::vector<std::byte> whole = golden(name);
        REQUIRE(reader::from_bytes(bytes_view(whole)).has_value());
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const std::vector<std::byte> prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            // The magic of 0.1 and eight zeros of padding are the file without tensors (SPEC.md §2.5).
            const outcome expected = size == 16 && name == "v0.1-dense.zt" ? outcome::walked : outcome::refused;
            if (open_and_walk(prefix) != expected) {
                CAPTURE(name, size);
                CHECK(open_and_walk(prefix) == expected);
            }
        }
    }
}

TEST_CASE("a file changed at any byte of its index or footer is refused, or opens and stays within its memory") {
    std::size_t walked_count = 0;
    std::size_t refused_count = 0;
    for (golden_file& file : golden_files(32 * 1024)) {
        for (std::size_t at = index_start(file.content); at < file.content.size(); ++at) {
            const std::byte original = file.content[at];
            std::vector<std::byte> values = {std::byte{0x00}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}};
            for (unsigned bit = 0; bit < 8; ++bit) {
                values.push_back(original ^ std::byte{1} << bit);
            }
            for (const std::byte value : values) {
                file.content[at] = value;
                const outcome found = open_and_walk(file.content);
                if (found == outcome::unsound) {
                    CAPTURE(file.name, at, std::to_integer<int>(value));
                    CHECK(found != outcome::unsound);
                }
                ++(found == outcome::walked ? walked_count : refused_count);
            }
            file.content[at] = original;
        }
    }
    CHECK(walked_count > 1000); // both happen: names and digests may say anything
    CHECK(refused_count > walked_count);
}

TEST_CASE("a file changed at any byte of its blobs opens, and what it holds is read or refused") {
    for (const std::string_view name : {"v1.1-digests.zt", "s0.1-sparse-one-blob.zt", "v1.2-zstd.zt"}) {
        std::vector<std::byte> content = golden(name);
        const std::size_t end = index_start(content);
        for (std::size_t at = 64; at < end; at += 1 + end / 1000) {
            const std::byte original = content[at];
            content[at] = ~original;
            const outcome found = open_and_walk(content);
            if (found != outcome::walked) {
                CAPTURE(name, at);
                CHECK(found == outcome::walked);
            }
            content[at] = original;
        }
    }
}

TEST_CASE("an index that changes after it was validated changes nothing") {
    std::vector<std::byte> content = support::to_vector(sample().file());
    const reader file = reader::from_bytes(bytes_view(content)).value();
    std::fill(content.begin() + 72, content.end(), std::byte{0xff}); // all behind the blob
    CHECK(file.version() == "1.2.0");
    CHECK(file.find("w")->shape() == ztensor::shape{2});
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
}

// ---- spelling

namespace {

/// Encodes items in one of the many well-formed ways there are, chosen at random.
class speller {
public:
    using pairs = std::vector<std::pair<std::string, bytes>>;

    explicit speller(unsigned seed) : random_(seed) {}

    bytes number(std::uint64_t value) { return head(cbor::major::unsigned_integer, value); }

    bytes text(std::string_view value) {
        if (chance(2)) {
            return head(cbor::major::text, value.size()) + bytes(value);
        }
        bytes out = cbor::indefinite_head(cbor::major::text);
        while (!value.empty() || chance(4)) {
            const std::size_t size = std::min<std::size_t>(value.size(), below(chance(2) ? 4 : 400));
            out += head(cbor::major::text, size) + bytes(value.substr(0, size));
            value.remove_prefix(size);
        }
        return out + cbor::stop;
    }

    bytes array(const std::vector<bytes>& items) {
        return chance(2) ? cbor::indefinite_array(items) : head(cbor::major::array, items.size()) + cbor::joined(items);
    }

    /// In any order.
    bytes map(pairs all) {
        for (std::size_t i = all.size(); i > 1; --i) {
            std::swap(all[i - 1], all[below(i)]);
        }
        bytes content;
        for (const auto& [key, value] : all) {
            content += text(key) + value;
        }
        return chance(2) ? cbor::indefinite_head(cbor::major::map) + content + cbor::stop
                         : head(cbor::major::map, all.size()) + content;
    }

    /// A map with a few fields more, that no version knows.
    bytes map_and_more(pairs all) {
        for (std::size_t i = below(3); i-- > 0;) {
            all.emplace_back("unknown " + std::to_string(i) + std::string(below(300), '.'), anything());
        }
        return map(std::move(all));
    }

    bytes anything() {
        switch (below(5)) {
        case 0:
            return text(std::string(below(600), 't'));
        case 1:
            return array({number(below(1000)), cbor::tag(2, cbor::byte_string("tagged")), text("in an array")});
        case 2:
            return map({{"twice", text("a")}, {"twice", text("b")}});
        case 3:
            return cbor::double_one;
        default:
            return cbor::undefined;
        }
    }

private:
    std::size_t below(std::size_t end) { return random_() % end; }
    bool chance(std::size_t of) { return below(of) == 0; }

    bytes head(cbor::major kind, std::uint64_t argument) {
        std::vector<std::size_t> sizes = {8};
        const std::pair<std::size_t, std::uint64_t> shorter[] = {{0, 23}, {1, 0xff}, {2, 0xffff}, {4, 0xffffffff}};
        for (const auto& [size, most] : shorter) {
            if (argument <= most) {
                sizes.push_back(size);
            }
        }
        return cbor::head_of_size(kind, argument, sizes[below(sizes.size())]);
    }

    std::mt19937 random_;
};

const std::string spelled_names[] = {"w", std::string(23, 'x'), std::string(24, 'y'), std::string(300, 'z'),
                                     std::string(4096, 'n')};

/// Both attributes of an object.
speller::pairs spelled_attributes(speller& spell, const std::string& name) {
    return {{"of " + name.substr(0, 200), spell.text(name)}, {"number", spell.number(name.size())}};
}

/// An index of one object of each name: the numbers 1 and 2, of shape [1, 2], at offset 64.
bytes spelled_index(speller& spell, generation from) {
    const std::string dtype = from <= generation::v1_0 ? "float32" : "f32";
    speller::pairs objects;
    std::vector<bytes> tensors;
    for (const std::string& name : spelled_names) {
        const bytes shape = spell.array({spell.number(1), spell.number(2)});
        speller::pairs attributes = spelled_attributes(spell, name);
        if (from == generation::v0_1) {
            speller::pairs fields = {{"name", spell.text(name)},      {"offset", spell.number(64)},
                                     {"size", spell.number(8)},       {"dtype", spell.text(dtype)},
                                     {"layout", spell.text("dense")}, {"shape", shape},
                                     {"encoding", spell.text("raw")}, {"checksum", spell.text("crc32c:28c0c9b1")}};
            fields.insert(fields.end(), attributes.begin(), attributes.end());
            tensors.push_back(spell.map(fields));
            continue;
        }
        speller::pairs component = {{"offset", spell.number(64)},
                                    {"length", spell.number(8)},
                                    {"encoding", spell.text("raw")},
                                    {"digest", spell.text("crc32c:28c0c9b1")}};
        speller::pairs object = {{"shape", shape}, {"format", spell.text("dense")}};
        (from == generation::v1_0 ? object : component).emplace_back("dtype", spell.text(dtype));
        object.emplace_back("components", spell.map({{"data", spell.map_and_more(component)}}));
        if (from != generation::v1_0) { // which has none
            object.emplace_back("attributes", spell.map(attributes));
        }
        objects.emplace_back(name, spell.map_and_more(object));
    }
    if (from == generation::v0_1) {
        return spell.array(tensors);
    }
    constexpr std::string_view versions[] = {"", "1.0", "1.1.0", "1.2.0"};
    return spell.map_and_more({{"version", spell.text(versions[static_cast<std::size_t>(from)])},
                               {"attributes", spell.map(spelled_attributes(spell, "all"))},
                               {from == generation::v1_0 ? "tensors" : "objects", spell.map(objects)}});
}

bool has_spelled_attributes(ztensor::attributes_view attributes, const std::string& name) {
    return attributes.size() == 2 && attributes.text("of " + name.substr(0, 200)).value_or("") == name &&
           attributes.unsigned_integer("number").value_or(0) == name.size();
}

/// What is wrong with the file of that index; "" if nothing.
std::string spelling_fault(const result<reader>& file, generation from) {
    if (!file) {
        return file.error().what();
    }
    if (file->generation() != from || file->size() != std::size(spelled_names) ||
        (from != generation::v0_1 && !has_spelled_attributes(file->attributes(), "all"))) {
        return "the file";
    }
    for (const std::string& name : spelled_names) {
        const result<ztensor::object_view> object = file->find(name);
        if (!object || object->shape() != ztensor::shape{1, 2} || object->format() != "dense") {
            return "object " + name;
        }
        if (from != generation::v1_0 && !has_spelled_attributes(object->attributes(), name)) {
            return "the attributes of " + name;
        }
        if (object->read<float>().value_or(std::vector<float>()) != std::vector<float>{1, 2}) {
            return "the data of " + name;
        }
    }
    return "";
}

} // namespace

TEST_CASE("an index reads the same in any well-formed spelling") {
    const bytes numbers = support::little_endian(0x3f800000, 4) + support::little_endian(0x40000000, 4);
    for (const generation from : {generation::v0_1, generation::v1_0, generation::v1_1, generation::v1_2}) {
        for (unsigned seed = 0; seed < 300; ++seed) {
            speller spell(seed);
            const bytes content = sample(from).blobs({numbers}).file_of(spelled_index(spell, from));
            const std::string fault = spelling_fault(reader::from_bytes(support::to_vector(content)), from);
            if (!fault.empty()) {
                CAPTURE(name(from), seed);
                CHECK(fault == "");
            }
        }
    }
}

// ---- exhaustion

namespace {

/// What came of opening a file on little stack, and the memory it took at most beside the file itself.
struct refusal {
    bool is_refused = false;
    errc code{};
    std::size_t most_memory = 0;
};

refusal open_on_little_stack(const bytes& content) {
    refusal found;
    const std::vector<std::byte> memory = support::to_vector(content);
    on_little_stack([&] {
        const memory_use use = measure([&] {
            result<reader> file = reader::from_bytes(bytes_view(memory));
            found.is_refused = !file;
            found.code = file ? errc{} : file.error().code();
            return file;
        });
        found.most_memory = use.most;
    });
    return found;
}

/// `content` as the whole index of each kind of container, and as the value of a field that is not known.
std::vector<bytes> files_around(const bytes& content) {
    const bytes version = cbor::text("version") + cbor::text("1.2.0") + cbor::text("objects") + cbor::map().encoded();
    const bytes attribute = "\xa1" + cbor::text("attributes") + "\xa1" + cbor::text("k");
    const bytes tensor = "\x81\xa1" + cbor::text("k");
    return {support::file_1(content),
            support::file_1("\xa3" + version + cbor::text("x") + content),
            support::file_1(attribute + content),
            support::file_1_0(content),
            support::file_0_1(content),
            support::file_0_1(tensor + content)};
}

/// A copy of the index, and a little for the sentence of the error. Where bytes look like a long map of objects, room
/// for objects has been made.
std::size_t allowed_for_refusal(std::size_t index_bytes) {
    return 4 * index_bytes + mebibyte;
}

} // namespace

TEST_CASE("10 MB of anything that nests are refused on little stack, in bounded memory") {
    const std::pair<char, errc> nesting[] = {
        {'\x81', errc::cbor_depth}, {'\x9f', errc::cbor_depth},     {'\xa1', errc::cbor_depth},
        {'\xbf', errc::cbor_depth}, {'\x7f', errc::cbor_malformed}, {'\x5f', errc::cbor_malformed},
        {'\xc1', errc::cbor_depth}, {'\xd8', errc::cbor_depth},
    };
    for (const auto& [byte, code] : nesting) {
        const bytes content(10'000'000, byte);
        std::size_t position = 0;
        for (const bytes& file : files_around(content)) {
            CAPTURE(static_cast<int>(static_cast<unsigned char>(byte)), position);
            const refusal found = open_on_little_stack(file);
            CHECK(found.is_refused);
            CHECK(found.most_memory <= allowed_for_refusal(content.size()));
            if (position == 1 || position == 2 || position == 5) { // where any item may stand
                CHECK(found.code == code);
            }
            ++position;
        }
    }
}

TEST_CASE("1 MB of any byte is refused on little stack, in bounded memory") {
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bytes content(1'000'000, static_cast<char>(byte));
        for (const bytes& file : files_around(content)) {
            const refusal found = open_on_little_stack(file);
            if (!found.is_refused || found.most_memory > allowed_for_refusal(content.size())) {
                CAPTURE(byte, found.most_memory, content.size());
                CHECK(found.is_refused);
                CHECK(found.most_memory <= allowed_for_refusal(content.size()));
            }
        }
    }
}

namespace {

/// Short names, all different: "a", "b", … "aa", "ba", …
std::string short_name(std::size_t number) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::string name;
    for (++number; number != 0; number = (number - 1) / letters.size()) {
        name += letters[(number - 1) % letters.size()];
    }
    return name;
}

struct hostile_index {
    const char* what;
    generation from;
    std::function<bytes(std::size_t)> make; ///< an index of about `megabytes`
};

/// Encoded pairs of a map of `count` names.
template <class Value>
bytes named(std::size_t count, Value&& value) {
    bytes out = cbor::head(cbor::major::map, count);
    for (std::size_t i = 0; i < count; ++i) {
        out += cbor::text(short_name(i)) + value(i);
    }
    return out;
}

bytes root_of(generation from, const bytes& objects, const bytes& attributes = cbor::map()) {
    const bool is_1_0 = from == generation::v1_0;
    return cbor::map{{"version", cbor::text(is_1_0 ? "1.0" : "1.2.0")},
                     {"attributes", attributes},
                     {is_1_0 ? "tensors" : "objects", objects}};
}

bytes empty_blob(std::size_t) {
    return cbor::map{{"dtype", cbor::text("")}, {"offset", cbor::number(64)}, {"length", cbor::number(0)}};
}
bytes empty_blob_1_0(std::size_t) {
    return cbor::map{{"offset", cbor::number(64)}, {"length", cbor::number(0)}};
}
bytes object_of(const bytes& shape, const bytes& components) {
    return cbor::map{{"shape", shape}, {"format", cbor::text("")}, {"components", components}};
}
bytes object_1_0_of(const bytes& components) {
    return cbor::map{
        {"dtype", cbor::text("")}, {"shape", cbor::array({})}, {"format", cbor::text("")}, {"components", components}};
}

/// Each takes as many records, or as much work, for as few bytes as its generation allows.
const hostile_index hostile_indexes[] = {
    {"many objects", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         return root_of(generation::v1_2, named(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many objects of one blob that is not empty", generation::v1_2,
     [](std::size_t size) {
         const bytes blob =
             cbor::map{{"dtype", cbor::text("")}, {"offset", cbor::number(64)}, {"length", cbor::number(8)}};
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", blob}});
         return root_of(generation::v1_2, named(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many components", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named(4096, empty_blob));
         return root_of(generation::v1_2, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of one letter", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named(62, empty_blob));
         return root_of(generation::v1_2, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0", generation::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named(4096, empty_blob_1_0));
         return root_of(generation::v1_0, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0, of one letter", generation::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named(62, empty_blob_1_0));
         return root_of(generation::v1_0, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tensors of 0.1", generation::v0_1,
     [](std::size_t size) {
         const std::size_t count = size / 50;
         bytes out = cbor::head(cbor::major::array, count);
         for (std::size_t i = 0; i < count; ++i) {
             out += cbor::map{{"name", cbor::text(short_name(i))}, {"offset", cbor::number(64)},
                              {"size", cbor::number(0)},           {"dtype", cbor::text("")},
                              {"shape", cbor::array({})},          {"encoding", cbor::text("")}}
                        .encoded();
         }
         return out;
     }},
    {"shapes of 64 ones", generation::v1_2,
     [](std::size_t size) {
         const bytes object =
             object_of(cbor::numbers(std::vector<std::uint64_t>(64, 1)), cbor::map{{"a", empty_blob(0)}});
         return root_of(generation::v1_2, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tiny attributes", generation::v1_2,
     [](std::size_t size) {
         return root_of(generation::v1_2, cbor::map(), named(size / 6, [](std::size_t) { return cbor::null; }));
     }},
    {"objects of many tiny attributes", generation::v1_2,
     [](std::size_t size) {
         const bytes attributes = named(1000, [](std::size_t) { return cbor::null; });
         const bytes object = cbor::map{{"shape", cbor::array({})},
                                        {"format", cbor::text("")},
                                        {"attributes", attributes},
                                        {"components", cbor::map{{"a", empty_blob(0)}}}};
         return root_of(generation::v1_2, named(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"one attribute of many empty maps", generation::v1_2,
     [](std::size_t size) {
         const bytes maps = cbor::head(cbor::major::array, size) + support::repeated(size, "\xa0");
         return root_of(generation::v1_2, cbor::map(), cbor::map{{"k", maps}});
     }},
    {"names in chunks of one byte", generation::v1_2,
     [](std::size_t size) {
         const auto in_chunks = [](const std::string& name) {
             return cbor::indefinite_head(cbor::major::text) + support::repeated(1000, "\x60\x61n") + cbor::text(name) +
                    cbor::stop;
         };
         const std::size_t count = size / 3100;
         bytes objects = cbor::head(cbor::major::map, count);
         for (std::size_t i = 0; i < count; ++i) {
             objects += in_chunks(short_name(i)) + object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         }
         return root_of(generation::v1_2, objects);
     }},
    {"unknown fields of one object", generation::v1_2,
     [](std::size_t size) {
         sample file;
         for (std::size_t i = 0; i < size / 6; ++i) {
             file.object_map().add(cbor::text(short_name(i)), cbor::null);
         }
         return file.index();
     }},
};

} // namespace

TEST_CASE("an open file holds at most four times its index, and 1 MiB, whatever the index is made of") {
    for (const hostile_index& each : hostile_indexes) {
        CAPTURE(each.what);
        const bytes index = each.make(counts_memory ? 4'000'000 : 400'000);
        const std::vector<bytes> blobs = {bytes(8, 'x')};
        const std::vector<std::byte> memory =
            support::to_vector(each.from == generation::v0_1   ? support::file_0_1(index, blobs)
                               : each.from == generation::v1_0 ? support::file_1_0(index, blobs)
                                                               : support::file_1(index, blobs));
        bool is_walked = false;
        const memory_use use = measure([&] {
            result<reader> file = reader::from_bytes(bytes_view(memory));
            is_walked = file && !file->contains("no such name"); // which makes the table of names
            return file;
        });
        REQUIRE(is_walked);
        CAPTURE(index.size(), use.held, use.most);
        if (counts_memory) {
            CHECK(use.held > index.size()); // it is counted at all
            CHECK(use.held <= 4 * index.size() + mebibyte);
        }
    }
}

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) // whose runtime ends the program instead
TEST_CASE("data that no memory holds are an error when they are read") {
    const std::uint64_t length = std::uint64_t{1} << (sizeof(std::size_t) == 8 ? 62 : 30); // the host could address
    sample file;
    file.dtype("f64").shape({length / 8}).place(64, length);
    const bytes index = file.index();
    const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + length + tail.size(), bytes(support::magic_1), tail);
    const reader opened = reader::from_source(source, read_options().max_decoded_bytes(length)).value();
    if (sizeof(std::size_t) == 8) {
        CHECK(opened.read<double>("w").error().code() == errc::out_of_memory);
        CHECK(opened.read<double>("w").error().object() == "w");
        CHECK(opened.read_as<float>("w").error().code() == errc::out_of_memory);
    }
}

// ---- memory that runs out

namespace {

/// Runs `work() → result<void>` again and again, and lets one allocation fail each time, until none is left to fail.
/// `check(outcome)` looks at what came of each run.
template <class Work, class Check>
void fail_every_allocation(Work&& work, Check&& check) {
    for (std::size_t failing = 1;; ++failing) {
        allocations_before_failure = failing;
        const result<void> done = work();
        const bool was_reached = allocations_before_failure.exchange(0) == 0;
        CAPTURE(failing);
        if (!was_reached) {
            REQUIRE(done.has_value());
            REQUIRE(failing > 10); // allocations did fail
            return;
        }
        if (!done) { // a failure that the work could do without is none
            REQUIRE(done.error().code() == errc::out_of_memory);
        }
        check(done);
    }
}

const std::vector<float> six_floats = {1, 2, 3, 4, 5, 6};
const std::vector<bool> three_bools = {true, false, true};
const std::vector<std::uint64_t> sparse_columns = {0, 2};
const std::vector<std::uint64_t> sparse_pointers = {0, 1, 2};

/// One of everything.
result<void> write_everything(result<ztensor::writer> created) {
    if (!created) {
        return created.error();
    }
    ztensor::writer& out = *created;
    const ztensor::span<const float> two = ztensor::span<const float>(six_floats).first(2);
    return out.add("raw", {2, 3}, six_floats)
        .and_then([&] { return out.add("zstd", {6}, six_floats, ztensor::store().zstd().digest(ztensor::digest::sha256)); })
        .and_then([&] { return out.add("bools", {3}, three_bools); })
        .and_then([&] { return out.add_csr("a sparse matrix by rows", {2, 3}, two, sparse_columns, sparse_pointers); })
        .and_then([&] { return out.add_coo("a sparse tensor by coordinates", {3}, two, sparse_columns); })
        .and_then([&] { return out.stream("in pieces", {6}, ztensor::dtype::f32, ztensor::store().zstd()); })
        .and_then([&](ztensor::tensor_stream stream) {
            return stream.append(six_floats).and_then([&] { return stream.finish(); });
        })
        .and_then([&] { return out.finish(); });
}

} // namespace

TEST_CASE("a writer that runs out of memory at any point says so, and leaves the target as it was and nothing beside it") {
    const support::temp_dir directory;
    const std::filesystem::path target = directory / "target.zt";
    const bytes old = "what was there before";
    support::write_file(target, old);
    const auto check = [&](const result<void>& done) {
        REQUIRE((support::read_file(target) == old) == !done.has_value());
        REQUIRE(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
        support::write_file(target, old);
    };
    fail_every_allocation([&] { return write_everything(ztensor::writer::create(target)); }, check);
}

TEST_CASE("a copy that runs out of memory at any point says so, and leaves the target as it was and nothing beside it") {
    const support::temp_dir directory;
    const std::filesystem::path target = directory / "target.zt";
    const bytes old = "what was there before";
    support::write_file(target, old);
    const std::vector<std::byte> content = golden("s0.1-sparse-one-blob.zt");
    const reader from = reader::from_bytes(bytes_view(content)).value();
    const auto check = [&](const result<void>& done) {
        REQUIRE((support::read_file(target) == old) == !done.has_value());
        REQUIRE(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
        support::write_file(target, old);
    };
    const auto copy_all = [&]() -> result<void> {
        result<ztensor::writer> out = ztensor::writer::create(target);
        if (!out) {
            return out.error();
        }
        return ztensor::copy(from, *out).and_then([&] { return out->finish(); });
    };
    fail_every_allocation(copy_all, check);
}

TEST_CASE("what is refused for want of something else is refused for want of memory where that runs out") {
    const std::vector<std::byte> content = golden("v1.2-dense.zt");
    const reader file = reader::from_bytes(bytes_view(content)).value();
    const ztensor::object_view object = *file.begin();
    const ztensor::component_view data = *object.begin();
    const auto refuse_everything = [&]() -> result<void> {
        const auto ran_out = [](const auto& answer) { return !answer && answer.error().code() == errc::out_of_memory; };
        if (ran_out(file.find("no such name")) || ran_out(object.component("no such role")) ||
            ran_out(data.check<std::complex<float>>()) || ran_out(data.view<std::complex<float>>()) ||
            ran_out(data.read_stored_into({}, std::uint64_t{1} << 60)) ||
            ran_out(object.read_rows<float>(5, std::uint64_t{1} << 60))) {
            return ztensor::error(errc::out_of_memory, "");
        }
        return {};
    };
    fail_every_allocation(refuse_everything, [](const result<void>&) {});
}

TEST_CASE("a reader that runs out of memory at any point says so") {
    const auto check = [](const result<void>&) {};
    for (const char* const name : {"v1.2-zstd.zt", "v1.1-sparse-csr.zt", "v0.1-sparse-csr.zt", "s1.2-cbor-forms.zt"}) {
        CAPTURE(name);
        const std::filesystem::path path = std::filesystem::path("tests/corpus/golden") / name;
        const auto read_all = [&]() -> result<void> {
            const result<reader> file = reader::open(path);
            if (!file) {
                return file.error();
            }
            for (const ztensor::object_view object : *file) {
                result<void> done = file->find(object.name()).and_then([](const auto&) { return result<void>(); });
                for (const ztensor::component_view component : object) {
                    done = done.and_then([&] { return component.read<std::byte>(); }).and_then([](const auto&) {
                        return result<void>();
                    });
                    done = done.and_then([&] { return component.verify(); }).and_then([](const auto&) {
                        return result<void>();
                    });
                }
                if (object.format() == "sparse_csr") {
                    done = done.and_then([&] { return ztensor::csr_view<std::byte>::from(object); })
                               .and_then([](const auto&) { return result<void>(); });
                }
                if (object.format() == "sparse_csr" && file->generation() == generation::v0_1) {
                    done = done.and_then([&] { return ztensor::csr_view<float>::from(object); })
                               .and_then([](const auto& csr) { return csr.to_coo(); })
                               .and_then([](const auto& coo) { return coo.to_csr(); })
                               .and_then([](const auto& csr) { return csr.to_dense(); })
                               .and_then([](const auto&) { return result<void>(); });
                }
                if (!done) {
                    return done;
                }
            }
            return {};
        };
        fail_every_allocation(read_all, check);
    }
}
#endif
