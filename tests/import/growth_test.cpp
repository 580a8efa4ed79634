// SPDX-License-Identifier: MIT
//
// What a file of twice as many parts costs: about twice as much time, whatever there is twice as many of. Quadratic
// work takes four times as long. A machine may be busy, so that the least of several runs counts, and of several
// comparisons the best.
#include "import/foreign_files.hpp"
#include "import/pickled_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/protobuf.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace growth {

namespace pickled = support::pickled;
using support::bytes;
using support::little_endian;
using support::repeated;

/// What is counted, the name of the file, and a file of so many.
struct kind {
    const char* what;
    const char* name;
    std::function<bytes(std::size_t)> make;
};

/// Of eight digits.
bytes numbered(const bytes& front, std::size_t number) {
    const bytes digits = std::to_string(number);
    return front + bytes(8 - digits.size(), '0') + digits;
}
/// So many pieces one behind the other.
bytes joined(std::size_t count, const std::function<bytes(std::size_t)>& piece) {
    bytes all;
    for (std::size_t i = 0; i < count; ++i) {
        all += piece(i);
    }
    return all;
}

// -- safetensors

bytes safetensors(const bytes& header) {
    return support::safetensors_file("{" + header.substr(0, header.size() - 1) + "}", "");
}
bytes safetensors_of(std::size_t count, bool are_equal) {
    return safetensors(joined(count, [&](std::size_t i) {
        return "\"" + numbered("n", are_equal ? 0 : i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
    }));
}
bytes safetensors_metadata(std::size_t count, bool are_equal) {
    bytes keys = joined(count, [&](std::size_t i) { return "\"" + numbered("k", are_equal ? 0 : i) + "\":\"v\","; });
    keys.pop_back();
    return safetensors("\"__metadata__\":{" + keys + "},");
}

// -- GGUF

bytes gguf_text(const bytes& text) {
    return little_endian(text.size(), 8) + text;
}
bytes gguf(std::size_t tensors, std::size_t pairs, const bytes& content) {
    return "GGUF" + little_endian(3, 4) + little_endian(tensors, 8) + little_endian(pairs, 8) + content;
}
bytes gguf_keys(std::size_t count, bool are_equal) {
    return gguf(0, count, joined(count, [&](std::size_t i) {
                    return gguf_text(numbered("k", are_equal ? 0 : i)) + little_endian(4, 4) + little_endian(i, 4);
                }));
}
bytes gguf_array(std::size_t count, std::uint64_t type, const bytes& element) {
    return gguf(0, 1,
                gguf_text("k") + little_endian(9, 4) + little_endian(type, 4) + little_endian(count, 8) +
                    repeated(count, element));
}
bytes gguf_tensors(std::size_t count, bool are_equal) {
    const bytes content = gguf(count, 0, joined(count, [&](std::size_t i) {
                                   return gguf_text(numbered("n", are_equal ? 0 : i)) + little_endian(1, 4) +
                                          little_endian(1, 8) + little_endian(24, 4) + little_endian(32 * i, 8);
                               }));
    return content + bytes((32 - content.size() % 32) % 32, '\0') + bytes(32 * count, '\0');
}

// -- archives and pickles

bytes npz(std::size_t count, bool are_equal) {
    const bytes header = "{'descr': '|u1', 'fortran_order': False, 'shape': (0,)}";
    const bytes array = bytes("\x93NUMPY\1\0", 8) + little_endian(header.size(), 2) + header;
    std::vector<std::pair<bytes, bytes>> entries;
    for (std::size_t i = 0; i < count; ++i) {
        entries.emplace_back(numbered("n", are_equal ? 0 : i) + ".npy", array);
    }
    return pickled::archive(entries);
}

/// A dictionary of so many values; `value(i)` is one.
bytes dictionary_of(std::size_t count, bool are_equal, const std::function<bytes(std::size_t)>& value) {
    const auto item = [&](std::size_t i) { return pickled::text(numbered("n", are_equal ? 0 : i)) + value(i); };
    return "}(" + joined(count, item) + "u";
}
bytes tensors(std::size_t count, bool are_equal, bool are_tied) {
    return pickled::checkpoint(dictionary_of(count, are_equal,
                                             [&](std::size_t i) {
                                                 return pickled::tensor("ByteStorage",
                                                                        std::to_string(are_tied ? 0 : i), 1);
                                             }),
                               std::vector<bytes>(are_tied ? 1 : count, "x"));
}
bytes checkpoint_of(const bytes& value) {
    return pickled::checkpoint(value, {"x"});
}
/// Remembers what `value` makes, for `again` to stand in so many places.
bytes shared(std::size_t count, const bytes& value, const bytes& again) {
    return checkpoint_of(pickled::tuple({value + bytes("q\0", 2), "](" + repeated(count, again) + "e"}));
}
const bytes recalled("h\0", 2);

bytes unlisted_calls(std::size_t count) {
    return shared(count, pickled::tuple({"](" + repeated(count, "K\1") + "e", "N", "N", "cos\nsystem\n"}),
                  pickled::global("torch._utils", "_rebuild_tensor_v2") + recalled + "R");
}
/// As many sizes as tensors, which share them.
bytes shared_sizes(std::size_t count) {
    return shared(count, "(" + repeated(count, "K\1") + "t",
                  pickled::call(pickled::global("torch._utils", "_rebuild_tensor"),
                                {pickled::storage("ByteStorage", "0", 1), pickled::number(0), recalled, recalled}));
}
/// As many strides as tensors, which share them, and whose storages are not known.
bytes shared_strides(std::size_t count) {
    const bytes one = "(K\1t";
    return shared(count, "(" + repeated(count, "K\1") + "t",
                  pickled::call(pickled::global("torch._utils", "_rebuild_tensor"),
                                {pickled::storage("Float2Storage", "0", 1), pickled::number(0), one, recalled}));
}
/// As many sizes as sparse tensors, which share them.
bytes shared_sparse_sizes(std::size_t count) {
    const bytes indices = pickled::strided(pickled::storage("LongStorage", "0", 1), {1, 1}, {1, 1});
    return shared(count, "(" + repeated(count, "K\1") + "t",
                  pickled::call(pickled::global("torch._utils", "_rebuild_sparse_tensor"),
                                {pickled::text("torch.sparse_coo"),
                                 pickled::tuple({indices, pickled::tensor("ByteStorage", "0", 1), recalled})}));
}
/// As many parts as objects, which share them.
bytes shared_state(std::size_t count) {
    return shared(count, dictionary_of(count, false, [](std::size_t) { return bytes("K\1"); }),
                  pickled::call(pickled::global("torch._tensor", "_rebuild_from_type_v2"),
                                {pickled::global("mine", "rebuild"), pickled::global("torch.distributed", "DTensor"),
                                 ")", recalled}));
}

// -- ONNX

using support::protobuf::field;

bytes onnx(const bytes& graph) {
    return field(1, std::uint64_t{10}) + field(7, field(2, bytes("g")) + graph);
}
bytes onnx_tensor(const bytes& name) {
    return field(1, std::uint64_t{1}) + field(2, std::uint64_t{2}) + field(8, name) + field(9, bytes("x"));
}
bytes initialisers(std::size_t count, bool are_equal) {
    return onnx(joined(count, [&](std::size_t i) { return field(5, onnx_tensor(numbered("n", are_equal ? 0 : i))); }));
}
/// Each in a node of its own, in so many attributes.
bytes onnx_nodes(std::size_t count, bool are_equal) {
    const bytes value = field(1, bytes("value")) + field(5, onnx_tensor("t")) + field(20, std::uint64_t{4});
    return onnx(joined(count, [&](std::size_t i) {
        return field(1, field(2, numbered("o", are_equal ? 0 : i)) + field(4, bytes("Constant")) + field(5, value));
    }));
}
bytes onnx_attributes(std::size_t count, bool are_equal) {
    return onnx(field(1, field(3, bytes("node")) + field(4, bytes("X")) + field(7, bytes("mine")) +
                             joined(count, [&](std::size_t i) {
                                 return field(5, field(1, numbered("a", are_equal ? 0 : i)) +
                                                     field(5, onnx_tensor("t")) + field(20, std::uint64_t{4}));
                             })));
}
/// Graphs of nodes, each with an initialiser of the same name.
bytes onnx_graphs(std::size_t count) {
    const bytes graph = field(2, bytes("g")) + field(5, onnx_tensor("w"));
    const bytes then = field(1, bytes("then")) + field(6, graph) + field(20, std::uint64_t{5});
    return onnx(joined(count, [&](std::size_t i) {
        return field(1, field(3, numbered("if", i)) + field(4, bytes("If")) + field(5, then));
    }));
}
bytes onnx_dimensions(std::size_t count) {
    return onnx(field(5, repeated(count, field(1, std::uint64_t{1})) + onnx_tensor("w")));
}
bytes onnx_numbers(std::size_t count) {
    return onnx(field(5, field(1, std::uint64_t{count}) + field(2, std::uint64_t{6}) + field(8, bytes("w")) +
                             repeated(count, field(5, std::uint64_t{1}))));
}
bytes onnx_metadata(std::size_t count, bool are_equal) {
    return onnx(field(5, onnx_tensor("w"))) + joined(count, [&](std::size_t i) {
               return field(14, field(1, numbered("k", are_equal ? 0 : i)) + field(2, bytes("v")));
           });
}

// -- indices of shards

bytes index_of(std::size_t count, bool are_equal, bool are_shards) {
    bytes entries = joined(count, [&](std::size_t i) {
        return "\"" + numbered("n", are_equal ? 0 : i) + "\":\"" + numbered("f", are_shards ? i : 0) + "\",";
    });
    entries.pop_back();
    return "{\"weight_map\":{" + entries + "}}";
}

// -- .zt

constexpr std::uint64_t most_components = std::uint64_t{1} << 22;

bytes zt(ztensor::format_version version, const std::function<void(ztensor::writer&)>& fill) {
    const auto options = ztensor::write_options().version(version).max_components_per_object(most_components);
    return support::as_string(support::written(options, fill));
}
bytes zt_objects(ztensor::format_version version, std::size_t count, ztensor::digest digest = ztensor::digest::none) {
    return zt(version, [&](ztensor::writer& to) {
        for (std::size_t i = 0; i < count; ++i) {
            to.add(numbered("n", i), {1}, std::vector<std::uint8_t>{static_cast<std::uint8_t>(i)},
                   ztensor::store().digest(digest))
                .value();
        }
    });
}
/// All names are the first one.
bytes with_equal_names(bytes content) {
    for (std::size_t at = content.find("n0"); at != bytes::npos; at = content.find("n0", at + 9)) {
        std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at) + 1, 8, '0');
    }
    return content;
}
ztensor::attributes many_attributes(std::size_t count) {
    ztensor::attributes all;
    for (std::size_t i = 0; i < count; ++i) {
        all.set(numbered("k", i), std::int64_t{1});
    }
    return all;
}
bytes zt_attributes(ztensor::format_version version, std::size_t count, bool are_of_file) {
    return zt(version, [&](ztensor::writer& to) {
        const ztensor::attributes all = many_attributes(count);
        if (are_of_file) {
            to.attributes(all).value();
        }
        to.add("w", {1}, std::vector<std::uint8_t>{1}, {},
               are_of_file ? ztensor::object_attributes() : ztensor::object_attributes(all))
            .value();
    });
}
bytes zt_components(ztensor::format_version version, std::size_t count) {
    return zt(version, [&](ztensor::writer& to) {
        const bytes content("x");
        ztensor::object_draft draft("mine.parts/1", {1});
        for (std::size_t i = 0; i < count; ++i) {
            draft.component_bytes(numbered("p", i), ztensor::dtype::u8, support::bytes_of(content));
        }
        to.add_object("w", draft).value();
    });
}

std::vector<kind> kinds() {
    using std::size_t;
    constexpr ztensor::format_version versions[] = {ztensor::format_version::v0_1, ztensor::format_version::v1_1,
                                                    ztensor::format_version::v1_2, ztensor::format_version::v2};
    std::vector<kind> all = {
        {"index of shards: names", "x.index.json", [](size_t n) { return index_of(n, false, false); }},
        {"index of shards: equal names", "x.index.json", [](size_t n) { return index_of(n, true, false); }},
        {"index of shards: files", "x.index.json", [](size_t n) { return index_of(n, false, true); }},
        {"safetensors: a long key", "x.safetensors",
         [](size_t n) { return safetensors("\"" + bytes(n, 'k') + "\":1,"); }},
        {"GGUF: numbers", "x.gguf", [](size_t n) { return gguf_array(n, 4, little_endian(7, 4)); }},
        {"GGUF: texts", "x.gguf", [](size_t n) { return gguf_array(n, 8, gguf_text("token")); }},
        {"GGUF: arrays", "x.gguf", [](size_t n) { return gguf_array(n, 9, bytes(12, '\0')); }},
        {"PyTorch: tied tensors", "x.pt", [](size_t n) { return tensors(n, false, true); }},
        {"PyTorch: entries", "x.pt",
         [](size_t n) {
             return pickled::checkpoint(pickled::tensor("ByteStorage", "0", 1), std::vector<bytes>(n, "x"));
         }},
        {"PyTorch: numbers", "x.pt", [](size_t n) { return checkpoint_of("](" + repeated(n, "K\1") + "e"); }},
        {"PyTorch: nesting", "x.pt", [](size_t n) { return checkpoint_of(repeated(n, "]") + repeated(n - 1, "a")); }},
        {"PyTorch: nested tuples", "x.pt", [](size_t n) { return checkpoint_of(")" + repeated(n, "\x85")); }},
        {"PyTorch: one dictionary", "x.pt", [](size_t n) { return shared(n, "}", recalled); }},
        {"PyTorch: objects", "x.pt", [](size_t n) { return checkpoint_of("](" + repeated(n, "cmine\nX\n)R") + "e"); }},
        {"PyTorch: unlisted calls", "x.pt", unlisted_calls},
        {"PyTorch: dimensions", "x.pt", shared_sizes},
        {"PyTorch: strides", "x.pt", shared_strides},
        {"PyTorch: dimensions of sparse tensors", "x.pt", shared_sparse_sizes},
        {"PyTorch: one state", "x.pt", shared_state},
        {"pickle: arrays", "x.pkl",
         [](size_t n) {
             return pickled::pickle(dictionary_of(n, false, [](size_t) { return pickled::array("u1", 1, "x"); }));
         }},
        {"ONNX: graphs", "x.onnx", onnx_graphs},
        {"ONNX: dimensions", "x.onnx", onnx_dimensions},
        {"ONNX: numbers", "x.onnx", onnx_numbers},
        {".zt 1.2: digests", "x.zt",
         [](size_t n) { return zt_objects(ztensor::format_version::v1_2, n, ztensor::digest::sha256); }},
        {".zt 2: digests", "x.zt",
         [](size_t n) { return zt_objects(ztensor::format_version::v2, n, ztensor::digest::sha256); }},
    };
    for (const bool are_equal : {false, true}) {
        all.push_back({are_equal ? "safetensors: equal names" : "safetensors: names", "x.safetensors",
                       [are_equal](size_t n) { return safetensors_of(n, are_equal); }});
        all.push_back({are_equal ? "safetensors: equal metadata" : "safetensors: metadata", "x.safetensors",
                       [are_equal](size_t n) { return safetensors_metadata(n, are_equal); }});
        all.push_back({are_equal ? "GGUF: equal keys" : "GGUF: keys", "x.gguf",
                       [are_equal](size_t n) { return gguf_keys(n, are_equal); }});
        all.push_back({are_equal ? "GGUF: equal tensors" : "GGUF: tensors", "x.gguf",
                       [are_equal](size_t n) { return gguf_tensors(n, are_equal); }});
        all.push_back({are_equal ? "NumPy: equal arrays" : "NumPy: arrays", "x.npz",
                       [are_equal](size_t n) { return npz(n, are_equal); }});
        all.push_back({are_equal ? "PyTorch: equal tensors" : "PyTorch: tensors", "x.pt",
                       [are_equal](size_t n) { return tensors(n, are_equal, false); }});
        all.push_back({are_equal ? "PyTorch: equal attributes" : "PyTorch: attributes", "x.pt",
                       [are_equal](size_t n) {
                           return checkpoint_of(dictionary_of(n, are_equal, [](size_t) { return bytes("K\1"); }));
                       }});
        all.push_back({are_equal ? "ONNX: equal initialisers" : "ONNX: initialisers", "x.onnx",
                       [are_equal](size_t n) { return initialisers(n, are_equal); }});
        all.push_back({are_equal ? "ONNX: equal nodes" : "ONNX: nodes", "x.onnx",
                       [are_equal](size_t n) { return onnx_nodes(n, are_equal); }});
        all.push_back({are_equal ? "ONNX: equal attributes" : "ONNX: attributes", "x.onnx",
                       [are_equal](size_t n) { return onnx_attributes(n, are_equal); }});
        all.push_back({are_equal ? "ONNX: equal metadata" : "ONNX: metadata", "x.onnx",
                       [are_equal](size_t n) { return onnx_metadata(n, are_equal); }});
    }
    for (const ztensor::format_version version : versions) {
        const bool is_0_1 = version == ztensor::format_version::v0_1;
        all.push_back({".zt: objects", "x.zt", [version](size_t n) { return zt_objects(version, n); }});
        if (version != ztensor::format_version::v2) { // whose manifest has a hash
            all.push_back({".zt: equal names", "x.zt",
                           [version](size_t n) { return with_equal_names(zt_objects(version, n)); }});
        }
        if (!is_0_1) {
            all.push_back(
                {".zt: attributes of a file", "x.zt", [version](size_t n) { return zt_attributes(version, n, true); }});
            all.push_back({".zt: components", "x.zt", [version](size_t n) { return zt_components(version, n); }});
        }
        all.push_back(
            {".zt: attributes of an object", "x.zt", [version](size_t n) { return zt_attributes(version, n, false); }});
    }
    return all;
}

/// Opens the content, which may be refused, asks for everything in it, and copies it.
void use(const std::shared_ptr<support::watched_source>& content, const char* name) {
    const auto file = ztensor::open_any(content, name,
                                        ztensor::read_options().max_components_per_object(most_components));
    if (!file) {
        return;
    }
    std::size_t found = 0;
    for (const ztensor::object_view object : *file) {
        found += file->contains(object.name()) ? 1 : 0;
        const ztensor::attributes own(object.attributes());
        found += object.size() + own.values().size();
    }
    const ztensor::attributes of_file(file->attributes());
    found += of_file.values().size();
    CHECK(found >= file->size());
    ztensor::writer to = support::to_memory();
    static_cast<void>(ztensor::copy(*file, to));
}

/// The least of several runs, in seconds of the processor.
double seconds_for(const kind& of, const bytes& content) {
    const auto source = std::make_shared<support::watched_source>(content);
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const std::clock_t start = std::clock();
        use(source, of.name);
        least = (std::min)(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
}

} // namespace growth

} // namespace

// Two doublings are measured as one: where what is read outgrows a cache, one of them takes more on a machine that
// others use, too, and what grows with the square takes four times its share either way.
TEST_CASE("a file of twice as many parts takes about twice the time, whatever they are and of whatever format") {
    using namespace growth;
    constexpr double most_of_a_doubling = 2.6, most = most_of_a_doubling * most_of_a_doubling, least_seconds = 0.02;
    constexpr std::size_t most_parts = std::size_t{1} << 19, most_tries = 4;
    for (const kind& each : kinds()) {
        std::size_t count = 1000;
        while (count < most_parts && seconds_for(each, each.make(count)) < least_seconds) {
            count *= 2;
        }
        const bytes once = each.make(count), four_times = each.make(4 * count);
        double ratio = most;
        for (std::size_t i = 0; i < most_tries && ratio >= most; ++i) {
            const double one = (std::max)(seconds_for(each, once), least_seconds); // less says nothing
            ratio = seconds_for(each, four_times) / one;
        }
        CAPTURE(each.what, each.name, count);
        CHECK(ratio < most);
    }
}
