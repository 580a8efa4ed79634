// SPDX-License-Identifier: MIT
//
// Memory while a file of another format is opened: at most four times what its header takes and what is made of it,
// and 1 MiB, of a pickle 32 MiB besides, whatever the header is made of. Measured, not counted by hand.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace opening_memory {

using support::bytes;
using support::little_endian;

/// Lent, so that it does not count as memory of the library.
class lent_source final : public ztensor::byte_source {
public:
    explicit lent_source(const bytes& content) : content_(content) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> to) const override {
        for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] = static_cast<std::byte>(content_[static_cast<std::size_t>(offset) + i]);
        }
        return {};
    }

private:
    const bytes& content_;
};

bytes stored_archive(const std::vector<std::pair<bytes, bytes>>& entries) {
    bytes all, directory;
    for (const auto& [name, content] : entries) {
        const bytes common = bytes("\x14\0\0\0\0\0\0\0\0\0", 10) + little_endian(support::crc32_of(content), 4) +
                             little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                             little_endian(name.size(), 2) + bytes(2, '\0');
        directory += "PK\1\2" + bytes("\x14\0", 2) + common + bytes(10, '\0') + little_endian(all.size(), 4) + name;
        all += "PK\3\4" + common + name + content;
    }
    return all + directory + "PK\5\6" + bytes(4, '\0') + little_endian(entries.size(), 2) +
           little_endian(entries.size(), 2) + little_endian(directory.size(), 4) + little_endian(all.size(), 4) +
           bytes(2, '\0');
}

bytes repeated(std::size_t count, const std::function<bytes(std::size_t)>& piece) {
    bytes all;
    for (std::size_t i = 0; i < count; ++i) {
        all += piece(i);
    }
    return all;
}
bytes repeated(std::size_t count, const bytes& piece) {
    return repeated(count, [&](std::size_t) { return piece; });
}

bytes small_checkpoint(const bytes& opcodes) {
    return stored_archive({{"x/data.pkl", bytes("\x80\x02", 2) + opcodes + "."}});
}
bytes text_in_pickle(const bytes& content) {
    return "X" + little_endian(content.size(), 4) + content;
}

/// As torch.save writes it: everything is remembered, and what was seen before is recalled.
bytes state_dict(std::size_t tensors, bool is_legacy = false) {
    std::uint64_t next = 0;
    const auto put = [&] { return "r" + little_endian(next++, 4); };
    std::map<bytes, std::uint64_t> known;
    bytes all = "}" + put();
    const auto add = [&](const bytes& opcodes) { all += opcodes; };
    const auto add_and_put = [&](const bytes& opcodes) { all += opcodes + put(); };
    const auto add_once = [&](const bytes& opcodes) {
        const auto place = known.find(opcodes);
        if (place != known.end()) {
            all += "j" + little_endian(place->second, 4);
            return;
        }
        known.emplace(opcodes, next);
        add_and_put(opcodes);
    };
    for (std::size_t begin = 0; begin < tensors; begin += 1000) {
        add("(");
        for (std::size_t i = begin; i < begin + 1000 && i < tensors; ++i) {
            add_and_put(text_in_pickle("layers." + std::to_string(i) + ".weight"));
            add_once("ctorch._utils\n_rebuild_tensor_v2\n");
            add("((");
            add_once(text_in_pickle("storage"));
            add_once("ctorch\nFloatStorage\n");
            add_and_put(text_in_pickle("0"));
            add_once(text_in_pickle("cpu"));
            add_and_put(is_legacy ? "K\4Nt" : "K\4t"); // of no other storage a view
            add("Q" + bytes("K\0", 2));
            add_and_put("K\2K\2\x86");
            add_and_put("K\2K\1\x86");
            add("\x89");
            add_once("ccollections\nOrderedDict\n");
            add_and_put(")R");
            add_and_put("t");
            add_and_put("R");
        }
        add("u");
    }
    return all;
}

/// As torch.save wrote it before 1.6: pickles one behind the other, and the storage behind them.
bytes legacy_checkpoint(std::size_t tensors) {
    const bytes start("\x80\x02", 2);
    const bytes facts = "}(" + text_in_pickle("protocol_version") + "M\xe9\x03" + text_in_pickle("little_endian") +
                        "\x88" + text_in_pickle("type_sizes") + "}u";
    return start + "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + start + "M\xe9\x03." + start + facts + "." +
           start + state_dict(tensors, true) + "." + start + "](" + text_in_pickle("0") + "e." + little_endian(4, 8) +
           bytes(16, '\0');
}

/// What JSON says of the weights of a program.
bytes program_of(const bytes& payloads) {
    return stored_archive({{"x/data/weights/w", bytes(4, 'x')},
                           {"x/data/weights/model_weights_config.json", "{\"config\":{" + payloads + "}}"}});
}
/// With names of so many digits, and no more than a tensor needs.
bytes program(std::size_t tensors, std::size_t digits) {
    return program_of(repeated(tensors, [&](std::size_t i) {
        return (i == 0 ? "\"" : ",\"") + std::to_string(10000 + i).substr(0, digits + (digits != 0 ? 1 : 0)) +
               "\":{\"path_name\":\"w\",\"tensor_meta\":{\"dtype\":1,\"sizes\":[{\"as_int\":4}],\"strides\":[{\"as_"
               "int\":1}]," +
               "\"storage_offset\":{\"as_int\":0}}}";
    }));
}
bytes program_of_pickles(std::size_t objects) {
    return program_of(repeated(objects,
                               [](std::size_t i) {
                                   return "\"" + std::to_string(i) +
                                          "\":{\"path_name\":\"opaque_obj_0\",\"use_pickle\":true},";
                               }) +
                      "\"w\":{\"path_name\":\"w\",\"tensor_meta\":{\"dtype\":1,\"sizes\":[],\"strides\":[]," +
                      "\"storage_offset\":{\"as_int\":0}}}");
}

bytes safetensors(std::size_t begin, std::size_t end) {
    const bytes header = "{" +
                         repeated(end - begin,
                                  [&](std::size_t i) {
                                      return (i == 0 ? "\"" : ",\"") + std::to_string(begin + i) +
                                             "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
                                  }) +
                         "}";
    return little_endian(header.size(), 8) + header;
}

bytes onnx_field(unsigned which, const bytes& content) {
    const auto varint = [](std::uint64_t value) {
        bytes all;
        for (; value >= 0x80; value >>= 7) {
            all += static_cast<char>(value | 0x80);
        }
        return all + static_cast<char>(value);
    };
    return varint(which << 3 | 2) + varint(content.size()) + content;
}

bytes gguf(std::uint64_t tensors, std::uint64_t keys, const bytes& content) {
    return "GGUF" + little_endian(3, 4) + little_endian(tensors, 8) + little_endian(keys, 8) + content;
}
bytes gguf_text(const bytes& content) {
    return little_endian(content.size(), 8) + content;
}

struct measured {
    std::string outcome;
    std::size_t most;
    std::uint64_t allowed;
};

measured open(const bytes& file, const char* name) {
    std::uint64_t index_bytes = 0;
    std::string outcome;
    const std::size_t most = support::measure_memory([&] {
                                 auto opened = ztensor::open_any(std::make_shared<lent_source>(file), name);
                                 outcome = support::outcome(opened);
                                 index_bytes = opened ? opened->manifest_bytes() : 0;
                                 return opened;
                             }).most;
    const bool is_pickle = std::string_view(name) == "x.pt"; // whose values take memory that no index shows
    const std::uint64_t more = std::uint64_t{1} << 20, of_values = std::uint64_t{is_pickle ? 32U : 0U} << 20;
    return {outcome, most, 4 * (file.size() + index_bytes) + more + of_values};
}

} // namespace opening_memory

} // namespace

TEST_CASE("opening a file of another format takes at most four times its header and its index, and 1 MiB") {
    using namespace opening_memory;
    constexpr std::size_t many = 400000;
    constexpr std::size_t far_more = 3000000; // than a pickle may hold besides four times its bytes
    const bytes tiny_tensor = gguf_text("") + little_endian(0, 4) + little_endian(24, 4) + little_endian(0, 8);
    const auto npy = [](std::size_t) {
        const bytes header = "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }\n";
        return "\x93NUMPY\1" + bytes(1, '\0') + little_endian(header.size(), 2) + header;
    };
    std::vector<std::pair<bytes, bytes>> arrays;
    for (std::size_t i = 0; i < 20000; ++i) {
        arrays.emplace_back(std::to_string(i) + ".npy", npy(i));
    }
    const struct {
        const char* what;
        const char* name;
        bytes file;
        std::string expected;
    } cases[] = {
        {"lists", "x.pt", small_checkpoint("](" + repeated(far_more, "]") + "e"), "limit_exceeded"},
        {"lists, remembered", "x.pt", small_checkpoint("](" + repeated(far_more, "]\x94") + "e"), "limit_exceeded"},
        {"dictionaries", "x.pt", small_checkpoint("](" + repeated(far_more, "}") + "e"), "limit_exceeded"},
        {"tuples", "x.pt", small_checkpoint("](" + repeated(far_more, ")") + "e"), "limit_exceeded"},
        {"tuples of one", "x.pt", small_checkpoint("](" + repeated(far_more, "N\x85") + "e"), "limit_exceeded"},
        {"lists, one in the other", "x.pt", small_checkpoint(repeated(far_more, "]") + repeated(far_more - 1, "a")),
         "limit_exceeded"},
        {"lists of one", "x.pt", small_checkpoint("](" + repeated(far_more, "]Na") + "e"), "limit_exceeded"},
        {"memo", "x.pt", small_checkpoint("N" + repeated(3 * far_more, "\x94")), "limit_exceeded"},
        {"marks", "x.pt", small_checkpoint(repeated(many, "(")), "pickle_malformed"},
        {"texts", "x.pt", small_checkpoint("](" + repeated(many, text_in_pickle("ab")) + "e"), ""},
        {"numbers", "x.pt", small_checkpoint("](" + repeated(many, "K\7") + "e"), ""},
        {"Nones, few enough", "x.pt", small_checkpoint("](" + repeated(many, "N") + "e"), ""},
        {"Nones", "x.pt", small_checkpoint("](" + repeated(far_more, "N") + "e"), "limit_exceeded"},
        {"large lists", "x.pt", small_checkpoint("](" + repeated(many, "G12345678") + "e"), ""},
        {"a state dict of 100,000 tensors", "x.pt",
         stored_archive(
             {{"x/data.pkl", bytes("\x80\x02", 2) + state_dict(100000) + "."}, {"x/data/0", bytes(16, '\0')}}),
         "ok"},
        {"a state dict of 100,000 tensors, of before 1.6", "x.pt", legacy_checkpoint(100000), "ok"},
        {"a program of 20,000 tensors", "x.pt", program(20000, 4), "ok"},
        {"a program of 20,000 tensors that have no name of their own", "x.pt", program(20000, 0), "duplicate_key"},
        {"a program of 20,000 objects that are pickles", "x.pt", program_of_pickles(20000), "ok"},
        {"texts as attributes", "x.pt",
         small_checkpoint("}(" +
                          repeated(many / 10,
                                   [](std::size_t i) {
                                       return text_in_pickle("key " + std::to_string(i)) + text_in_pickle("value");
                                   }) +
                          "u"),
         "ok"},
        {"arrays", "x.gguf",
         gguf(0, 1,
              gguf_text("k") + little_endian(9, 4) + little_endian(0, 4) + little_endian(many, 8) +
                  bytes(many, '\xff')),
         "ok"},
        {"nested arrays", "x.gguf",
         gguf(0, 1,
              gguf_text("k") + little_endian(9, 4) + little_endian(9, 4) + little_endian(many, 8) +
                  repeated(many, little_endian(0, 4) + little_endian(0, 8))),
         "ok"},
        {"many keys", "x.gguf",
         gguf(0, many / 4,
              repeated(
                  many / 4,
                  [](std::size_t i) { return gguf_text(std::to_string(i)) + little_endian(0, 4) + bytes(1, '\1'); })),
         "ok"},
        {"many tensors", "x.gguf",
         gguf(many / 4, 0,
              repeated(many / 4,
                       [](std::size_t i) {
                           return gguf_text(std::to_string(i)) + little_endian(1, 4) + little_endian(0, 8) +
                                  little_endian(24, 4) + little_endian(0, 8);
                       })) +
             bytes(64, '\0'),
         "ok"},
        {"many tensors, and one of too many dimensions", "x.gguf",
         gguf(many + 1, 0, repeated(many, tiny_tensor) + gguf_text("") + little_endian(9, 4) + bytes(64, '\0')),
         "header_malformed"},
        {"many tensors", "x.safetensors", safetensors(0, many / 4), "ok"},
        {"many dimensions", "x.safetensors",
         [] {
             bytes header =
                 "{\"a\":{\"dtype\":\"U8\",\"shape\":[0" + repeated(many, ",0") + "],\"data_offsets\":[0,0]}}";
             return little_endian(header.size(), 8) + header;
         }(),
         ""},
        {"metadata", "x.safetensors",
         [] {
             bytes header =
                 "{\"__metadata__\":{" +
                 repeated(many / 4,
                          [](std::size_t i) { return (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"\""; }) +
                 "}}";
             return little_endian(header.size(), 8) + header;
         }(),
         "ok"},
        {"many arrays", "x.npz", stored_archive(arrays), "ok"},
        {"many initializers", "x.onnx",
         onnx_field(1, "") + onnx_field(7, repeated(many / 4,
                                                    [](std::size_t i) {
                                                        return onnx_field(5, "\x08" + bytes(1, '\0') + "\x10\2" +
                                                                                 onnx_field(8, std::to_string(i)) +
                                                                                 onnx_field(9, ""));
                                                    })),
         ""},
        {"many constants of nodes", "x.onnx",
         "\x08\7" + onnx_field(7, repeated(many / 4,
                                          [](std::size_t i) {
                                              return onnx_field(1, onnx_field(2, std::to_string(i)) +
                                                                       onnx_field(4, "Constant") +
                                                                       onnx_field(5, bytes("\x18\1", 2)));
                                          })),
         "ok"},
        {"many texts, which are skipped", "x.onnx",
         "\x08\7" + onnx_field(7, repeated(many, onnx_field(5, "\x10\x08" + onnx_field(8, "t")))), "ok"},
        {"texts of a node with a long name", "x.onnx",
         "\x08\7" + onnx_field(7, onnx_field(1, onnx_field(3, bytes(many, 'n')) + onnx_field(7, "d") +
                                                    repeated(many / 4, onnx_field(5, onnx_field(7, "1234"))))),
         "ok"},
        {"many graphs in nodes", "x.onnx",
         "\x08\7" + onnx_field(7, repeated(many / 4, onnx_field(1, onnx_field(5, onnx_field(6, onnx_field(2, "g")))))),
         "ok"},
        {"many graphs in an attribute", "x.onnx",
         "\x08\7" + onnx_field(7, onnx_field(1, onnx_field(5, repeated(many, onnx_field(11, ""))))), "ok"},
        {"graphs in one another", "x.onnx",
         [] {
             bytes graph;
             for (int level = 0; level < 10000; ++level) {
                 graph = onnx_field(1, onnx_field(5, onnx_field(6, graph)));
             }
             return "\x08\7" + onnx_field(7, graph);
         }(),
         "limit_exceeded"},
        {"many functions", "x.onnx",
         "\x08\7" + onnx_field(7, onnx_field(2, "g")) +
             repeated(many / 4, onnx_field(25, onnx_field(1, "f")) + onnx_field(25, bytes())),
         "ok"},
        {"many dimensions", "x.onnx", onnx_field(7, onnx_field(5, repeated(many, bytes("\x08\0", 2)))),
         "header_malformed"},
        {"external data of many entries", "x.onnx",
         onnx_field(7, onnx_field(5, repeated(many / 4, onnx_field(13, onnx_field(1, "k"))) + bytes("\x10\1\x70\1", 4) +
                                         onnx_field(8, "w"))),
         "name_invalid"},
        {"many properties", "x.onnx",
         "\x08\7" + onnx_field(7, onnx_field(2, "g")) +
             repeated(
                 many / 4,
                 [](std::size_t i) { return onnx_field(14, onnx_field(1, std::to_string(i)) + onnx_field(2, "")); }),
         ""},
    };
    for (const auto& each : cases) {
        const measured opened = open(each.file, each.name);
        CAPTURE(each.name, each.what, each.file.size(), opened.outcome, opened.most, opened.allowed);
        CHECK((!support::counts_memory || opened.most <= opened.allowed));
        CHECK((each.expected.empty() || opened.outcome == each.expected));
    }
}

TEST_CASE("opening a model in many files takes at most four times their headers and indices, and 1 MiB") {
    using namespace opening_memory;
    constexpr std::size_t files = 20, tensors = 5000; // in each
    const support::temp_dir safetensors_folder, gguf_folder;
    std::uint64_t header_bytes[2] = {};
    bytes index = "{\"metadata\":{},\"weight_map\":{";
    const auto write = [&](const std::filesystem::path& path, const bytes& content, std::size_t which) {
        support::write_file(path, content);
        header_bytes[which] += content.size();
    };
    for (std::size_t i = 0; i < files; ++i) {
        const bytes number = std::to_string(100001 + i).substr(1);
        write(safetensors_folder / ("m-" + number + ".safetensors"), safetensors(i * tensors, (i + 1) * tensors), 0);
        index += repeated(tensors, [&](std::size_t tensor) {
            return (i + tensor == 0 ? "\"" : ",\"") + std::to_string(i * tensors + tensor) + "\":\"m-" + number +
                   ".safetensors\"";
        });
        const auto key = [](const bytes& name, std::size_t value) {
            return gguf_text(name) + little_endian(2, 4) + little_endian(value, 2);
        };
        const bytes keys = key("split.no", i) + key("split.count", files) + gguf_text("split.tensors.count") +
                           little_endian(5, 4) + little_endian(files * tensors, 4);
        write(gguf_folder / ("m-" + number + "-of-00020.gguf"),
              gguf(tensors, 3,
                   keys + repeated(tensors,
                                   [&](std::size_t tensor) {
                                       return gguf_text(std::to_string(i * tensors + tensor)) + little_endian(1, 4) +
                                              little_endian(0, 8) + little_endian(24, 4) + little_endian(0, 8);
                                   })) +
                  bytes(64, '\0'),
              1);
    }
    write(safetensors_folder / "m.safetensors.index.json", index + "}}", 0);
    const std::filesystem::path roots[] = {safetensors_folder / "m.safetensors.index.json",
                                           gguf_folder / "m-00001-of-00020.gguf"};
    for (std::size_t which = 0; which < 2; ++which) {
        std::uint64_t index_bytes = 0;
        std::size_t objects = 0;
        const std::size_t most = support::measure_memory([&] {
                                     auto set = ztensor::open_any(roots[which]);
                                     for (const ztensor::reader& file : set.value().files()) {
                                         index_bytes += file.manifest_bytes();
                                         objects += file.size();
                                     }
                                     return set;
                                 }).most;
        const std::uint64_t allowed = 4 * (header_bytes[which] + index_bytes) + (std::uint64_t{1} << 20);
        CAPTURE(roots[which], most, allowed);
        CHECK(objects == files * tensors);
        CHECK((most <= allowed || !support::counts_memory));
    }
}

namespace {

namespace opening_memory {

std::size_t allocations_of_opening(const bytes& file, const std::string& name) {
    const auto source = std::make_shared<const lent_source>(file);
    const std::size_t before = support::allocation_count;
    const auto opened = ztensor::open_any(source, name);
    REQUIRE(support::outcome(opened) == "ok");
    return support::allocation_count - before;
}

/// Files of so many tensors without elements.
bytes many_safetensors(std::size_t count) {
    return safetensors(100000, 100000 + count);
}
bytes many_gguf(std::size_t count) {
    return gguf(count, 0,
                repeated(count,
                         [](std::size_t i) {
                             return gguf_text(std::to_string(100000 + i)) + little_endian(1, 4) + little_endian(0, 8) +
                                    little_endian(24, 4) + little_endian(0, 8);
                         })) +
           bytes(64, '\0');
}
bytes many_npz(std::size_t count) {
    const bytes header = "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }\n";
    std::vector<std::pair<bytes, bytes>> arrays;
    for (std::size_t i = 0; i < count; ++i) {
        arrays.emplace_back(std::to_string(100000 + i) + ".npy",
                            "\x93NUMPY\1" + bytes(1, '\0') + little_endian(header.size(), 2) + header);
    }
    return stored_archive(arrays);
}
bytes many_onnx(std::size_t count) {
    return "\x08\7" +
           onnx_field(7, onnx_field(2, "g") + repeated(count, [](std::size_t i) {
                             return onnx_field(5, bytes("\x08\0\x10\2", 4) + onnx_field(8, std::to_string(100000 + i)) +
                                                      onnx_field(9, ""));
                         }));
}
bytes many_pt(std::size_t count) {
    return stored_archive(
        {{"x/data.pkl", bytes("\x80\x02", 2) + state_dict(count) + "."}, {"x/data/0", bytes(16, '\0')}});
}

} // namespace opening_memory

} // namespace

TEST_CASE("opening a file of another format allocates no more for each tensor than is recorded") {
    using namespace opening_memory;
    const struct {
        const char* name;
        bytes (*make)(std::size_t count);
        std::size_t for_ten; ///< allocations for ten tensors
    } formats[] = {
        {"x.safetensors", many_safetensors, 0},
        {"x.gguf", many_gguf, 1},
        {"x.npz", many_npz, 10},
        {"x.onnx", many_onnx, 10},
        {"x.pt", many_pt, 51},
    };
#if defined(__GLIBCXX__) // other standard libraries allocate for short texts, or twice
    constexpr bool counts = support::counts_memory;
#else
    constexpr bool counts = false;
#endif
    for (const auto& each : formats) {
        if (!counts) {
            break;
        }
        constexpr std::size_t few_tensors = 1000, more = 10'000;
        const std::size_t few = allocations_of_opening(each.make(few_tensors), each.name);
        const std::size_t many = allocations_of_opening(each.make(few_tensors + more), each.name);
        CAPTURE(each.name, few, many);
        CHECK(many - few <= more / 10 * each.for_ten + 32);
    }
}
