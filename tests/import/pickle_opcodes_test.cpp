// SPDX-License-Identifier: MIT
//
// Pickles put together opcode by opcode: what each may stand on, what it makes, and how each is refused.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/import/pickle_machine.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace opcodes_of_pickles {

using support::bytes;
using ztensor::detail::pickle_kind;

bytes text(const bytes& content) {
    return "X" + support::little_endian(content.size(), 4) + content;
}
bytes number(std::uint64_t value) {
    return "J" + support::little_endian(value, 4);
}
bytes global(const bytes& module, const bytes& name) {
    return "c" + module + "\n" + name + "\n";
}
bytes tuple(const std::vector<bytes>& items) {
    bytes all = "(";
    for (const bytes& each : items) {
        all += each;
    }
    return all + "t";
}
bytes called(const bytes& callable, const std::vector<bytes>& arguments) {
    return callable + tuple(arguments) + "R";
}

const bytes float_storage = global("torch", "FloatStorage"), one_two = tuple({number(1), number(2)});

/// With one of its parts replaced.
bytes storage_id(std::size_t place = 9, const bytes& part = {}) {
    std::vector<bytes> parts = {text("storage"), float_storage, text("0"), text("cpu"), number(6)};
    if (place < parts.size()) {
        parts[place] = part;
    }
    return tuple(parts) + "Q";
}

/// Of _rebuild_tensor_v2, with one argument replaced and others behind.
bytes tensor(std::size_t place = 9, const bytes& part = {}, const std::vector<bytes>& behind = {}) {
    std::vector<bytes> arguments = {storage_id(), number(0), one_two, one_two, "\x89", ")"};
    if (place < arguments.size()) {
        arguments[place] = part;
    }
    arguments.insert(arguments.end(), behind.begin(), behind.end());
    return called(global("torch._utils", "_rebuild_tensor_v2"), arguments);
}
bytes tensor_3(const std::vector<bytes>& behind) {
    std::vector<bytes> arguments = {storage_id(), number(0), one_two, one_two, "\x89", ")"};
    arguments.insert(arguments.end(), behind.begin(), behind.end());
    return called(global("torch._utils", "_rebuild_tensor_v3"), arguments);
}

/// "ok, " and the kind of its root, or the name of the error's code.
std::string outcome_of(const bytes& pickle) {
    const auto made = ztensor::detail::pickle_machine(support::bytes_of(pickle)).run();
    return made ? "ok, " + std::string(ztensor::detail::name(made->root.kind)) : support::outcome(made);
}

} // namespace opcodes_of_pickles

} // namespace

TEST_CASE("every opcode of a pickle makes its value, and is refused when it is cut off") {
    using namespace opcodes_of_pickles;
    const std::pair<bytes, pickle_kind> rows[] = {
        {"N", pickle_kind::none},
        {"\x88", pickle_kind::boolean},
        {"\x89", pickle_kind::boolean},
        {"K\x07", pickle_kind::integer},
        {"M\x07\x01", pickle_kind::integer},
        {"J\x07\x01\x01\xff", pickle_kind::integer},
        {bytes("\x8a\0", 2), pickle_kind::integer},
        {"\x8a\x02\x01\x02", pickle_kind::integer},
        {"\x8a\x09" + bytes(9, '\1'), pickle_kind::long_integer},
        {bytes("\x8b\1\0\0\0\5", 6), pickle_kind::integer},
        {"G" + bytes(8, '\1'), pickle_kind::number},
        {"\x8c\1a", pickle_kind::text},
        {text("ab"), pickle_kind::text},
        {"\x8d" + support::little_endian(2, 8) + "ab", pickle_kind::text},
        {"C\1a", pickle_kind::byte_string},
        {"B" + support::little_endian(2, 4) + "ab", pickle_kind::byte_string},
        {"\x8e" + support::little_endian(2, 8) + "ab", pickle_kind::byte_string},
        {")", pickle_kind::tuple},
        {"N\x85", pickle_kind::tuple},
        {"NN\x86", pickle_kind::tuple},
        {"NNN\x87", pickle_kind::tuple},
        {"(NNNNt", pickle_kind::tuple},
        {"]", pickle_kind::list},
        {"]Na", pickle_kind::list},
        {"](NNe", pickle_kind::list},
        {"}", pickle_kind::dictionary},
        {"}NNs", pickle_kind::dictionary},
        {"}(NNNNu", pickle_kind::dictionary},
        {"}}b", pickle_kind::dictionary},
        {float_storage, pickle_kind::global},
        {text("torch") + text("FloatStorage") + "\x93", pickle_kind::global},
        {called(global("collections", "OrderedDict"), {}), pickle_kind::dictionary},
        {called(global("torch", "Size"), {one_two}), pickle_kind::tuple},
        {bytes("Nq\0h\0\x86", 6), pickle_kind::tuple},
        {bytes("Nr\0\0\0\0j\0\0\0\0\x86", 12), pickle_kind::tuple},
        {bytes("Nq\0q\0", 5), pickle_kind::none},
        {"N\x94", pickle_kind::none},
        {"Nq\x02h\x02\x86", pickle_kind::tuple}, // numbers may be left out
        {"\x8f", pickle_kind::set},
        {"\x8f(NK\x07\x90", pickle_kind::set},
        {"(NN\x91", pickle_kind::set},
        {"(NNl", pickle_kind::list},
        {"(NNd", pickle_kind::dictionary},
        {"NN0", pickle_kind::none},
        {"N(0", pickle_kind::none}, // which takes the mark away
        {"N(NN1", pickle_kind::none},
        {"N2\x86", pickle_kind::tuple},
        {"I12\n", pickle_kind::integer},
        {"I01\n", pickle_kind::boolean},
        {"L-12L\n", pickle_kind::integer},
        {"F1.5\n", pickle_kind::number},
        {"S'a\\x41'\n", pickle_kind::text},
        {"Va\\u0041\n", pickle_kind::text},
        {"U\1a", pickle_kind::text},
        {"T" + support::little_endian(2, 4) + "ab", pickle_kind::text},
        {"\x96" + support::little_endian(2, 8) + "ab", pickle_kind::byte_string},
        {"Np2\ng2\n\x86", pickle_kind::tuple},
        {"cos\nsystem\n", pickle_kind::unknown_global},
        {"cos\nsystem\n(NtR", pickle_kind::object},
        {"cos\nsystem\n)\x81", pickle_kind::object},
        {"cos\nsystem\n)}\x92", pickle_kind::object},
        {"cos\nsystem\n)R}b", pickle_kind::object},
        {"cos\nsystem\n)R(NNu", pickle_kind::object},
        {"cos\nsystem\n)R(NNe", pickle_kind::object},
        {"(Nios\nsystem\n", pickle_kind::object},
        {"(cos\nsystem\nNo", pickle_kind::object},
        {called(global("collections", "Counter"), {"}"}), pickle_kind::dictionary},
        {called(global("collections", "OrderedDict"), {"](NN\x86"
                                                       "e"}),
         pickle_kind::dictionary},
        {called(global("collections", "defaultdict"), {"N"}), pickle_kind::dictionary},
        {called(global("__builtin__", "set"), {"]"}), pickle_kind::list},
        {called(global("_codecs", "encode"), {text("\xc3\xbf"), text("latin1")}), pickle_kind::byte_string},
        {called(global("torch", "device"), {text("cpu")}), pickle_kind::text},
        {tensor() + "}b", pickle_kind::tensor},
        {tensor(9, {}, {"}" + text("conj") + "\x88s"}), pickle_kind::tensor},
        {storage_id(), pickle_kind::storage},
        {tensor(), pickle_kind::tensor},
        {tensor(9, {}, {"N"}), pickle_kind::tensor},
        {tensor(9, {}, {"}"}), pickle_kind::tensor},
        {tensor_3({global("torch", "float32")}), pickle_kind::tensor},
        {tensor_3({global("torch", "float32"), "N"}), pickle_kind::tensor},
        {called(global("torch._utils", "_rebuild_parameter"), {tensor(), "\x88", "}"}), pickle_kind::tensor},
        {"\x95" + bytes(8, '\1') + "N", pickle_kind::none},
    };
    for (const auto& [opcodes, kind] : rows) {
        CAPTURE(support::to_hex(support::bytes_of(opcodes)));
        CHECK(outcome_of("\x80\x02" + opcodes + ".") == "ok, " + std::string(ztensor::detail::name(kind)));
        for (std::size_t size = 0; size <= opcodes.size(); ++size) {
            CHECK(outcome_of("\x80\x02" + opcodes.substr(0, size)) == "pickle_malformed");
        }
        CHECK(outcome_of("\x80\x02" + opcodes + ".N") == "pickle_malformed");
        CHECK(outcome_of("\x80\x02N" + opcodes + ".") == "pickle_malformed");
    }
}

TEST_CASE("an opcode of a pickle that stands on the wrong values is refused") {
    using namespace opcodes_of_pickles;
    const std::pair<bytes, const char*> rows[] = {
        {"", "pickle_malformed"},
        {"a", "pickle_malformed"},
        {"Na", "pickle_malformed"},
        {"NNa", "pickle_malformed"},
        {"e", "pickle_malformed"},
        {"(e", "pickle_malformed"},
        {"NNNs", "pickle_malformed"},
        {"}Ns", "pickle_malformed"},
        {"}(Nu", "pickle_malformed"},
        {"u", "pickle_malformed"},
        {"t", "pickle_malformed"},
        {"\x85", "pickle_malformed"},
        {"N\x86", "pickle_malformed"},
        {"NN\x87", "pickle_malformed"},
        {"q", "pickle_malformed"},
        {"q\x01", "pickle_malformed"},
        {bytes("h\0", 2), "pickle_malformed"},
        {"\x94", "pickle_malformed"},
        {"ios\nsystem\n", "pickle_malformed"}, // without a mark, as is the next
        {"cos\nsystem\no", "pickle_malformed"},
        {"I\n", "pickle_malformed"},
        {"\x93", "pickle_malformed"},
        {text("torch") + "S'Size'\n\x93", "pickle_malformed"},
        {"S'torch'\n" + text("Size") + "\x93", "pickle_malformed"},
        {"N\x93", "pickle_malformed"},
        {"NN\x93", "pickle_malformed"},
        {text("torch") + "N\x93", "pickle_malformed"},
        {"N" + text("torch") + "\x93", "pickle_malformed"},
        {"R", "pickle_malformed"},
        {")R", "pickle_malformed"},
        {"N)R", "pickle_malformed"},
        {float_storage + "NR", "pickle_malformed"},
        {float_storage + ")R", "pickle_refused"},
        {"b", "pickle_malformed"},
        {"Nb", "pickle_malformed"},
        {"NNb", "pickle_refused"},
        {"}Nb", "pickle_refused"},
        {"N}b", "pickle_refused"},
        {"Q", "pickle_malformed"},
        {"NQ", "pickle_malformed"},
        {"Pid\n", "pickle_refused"},
        {"\x82\x01", "pickle_refused"}, // an extension
        {"\x97", "pickle_refused"},     // a buffer from elsewhere
        {"0", "pickle_malformed"},
        {"1", "pickle_malformed"},
        {"2", "pickle_malformed"},
        {"(Nd", "pickle_malformed"},
        {"(o", "pickle_malformed"},
        {"(No", "pickle_malformed"},
        {"N)\x81", "pickle_malformed"},
        {"Fa\n", "pickle_malformed"},
        {"Sa\n", "pickle_malformed"},
        {"Va\\u00\n", "pickle_malformed"},
        {"Npa\n", "pickle_malformed"},
        {"Nq\xff", "pickle_malformed"}, // more than there are bytes
        {"K\x05Q", "pickle_malformed"},
        {"(NQ", "pickle_malformed"},
        {")Q", "pickle_malformed"},
        {"ios\nsystem", "pickle_malformed"},
        {"ios", "pickle_malformed"},
        {"\x80", "unsupported_version"}, // that of the end
        {"\x80\x01", "unsupported_version"},
        {"\x80\x06", "unsupported_version"},
        {called(global("collections", "OrderedDict"), {"N"}), "pickle_malformed"},
        {called(global("torch", "Size"), {"N"}), "pickle_malformed"},
        {called(global("torch", "Size"), {}), "pickle_malformed"},
        {called(global("torch", "Size"), {")", ")"}), "pickle_malformed"},
        {called(global("torch._utils", "_rebuild_parameter"), {"N", "N", "N"}), "pickle_malformed"},
        {called(global("torch._utils", "_rebuild_parameter"), {"N"}), "pickle_malformed"},
        {called(global("torch._utils", "_rebuild_tensor_v2"), {"N"}), "pickle_malformed"},
        {storage_id(0, "N"), "pickle_malformed"},
        {storage_id(0, text("tensor")), "pickle_malformed"},
        {storage_id(1, "N"), "pickle_malformed"},
        {storage_id(1, global("torch", "float32")), "pickle_malformed"},
        {storage_id(2, "N"), "pickle_malformed"},
        {storage_id(4, "N"), "pickle_malformed"},
        {storage_id(4, number(0xffffffff)), "pickle_malformed"}, // -1
        {storage_id(4, "\x8a\x08" + bytes(7, '\xff') + "\x7f"), "shape_overflow"},
        {tensor(0, "N"), "pickle_malformed"},
        {tensor(1, "N"), "pickle_malformed"},
        {tensor(1, number(0xffffffff)), "pickle_malformed"},
        {tensor(2, "N"), "pickle_malformed"},
        {tensor(2, tuple({number(1)})), "pickle_malformed"},
        {tensor(2, tuple({number(1), "N"})), "pickle_malformed"},
        {tensor(3, "N"), "pickle_malformed"},
        {tensor(3, tuple({number(1), number(0xffffffff)})), "pickle_malformed"},
        {tensor(9, {}, {"\x88"}), "pickle_refused"},
        {tensor(9, {}, {"}NNs"}), "pickle_refused"},
        {tensor(9, {}, {"N", "N"}), "pickle_malformed"},
        {tensor_3({}), "pickle_malformed"},
        {tensor_3({"N"}), "pickle_malformed"},
        {tensor_3({float_storage}), "pickle_malformed"},
    };
    for (const auto& [opcodes, expected] : rows) {
        CAPTURE(support::to_hex(support::bytes_of(opcodes)));
        CHECK(outcome_of("\x80\x02" + opcodes + ".") == expected);
    }
}

TEST_CASE("what a pickle may call makes its value, or refuses arguments that it is not called with") {
    using namespace opcodes_of_pickles;
    const bytes ordered = global("collections", "OrderedDict"), defaults = global("collections", "defaultdict");
    const bytes oldest = global("torch._utils", "_rebuild_tensor"), of_bytes = global("builtins", "bytes");
    const bytes quantized = global("torch._utils", "_rebuild_qtensor");
    const bytes sparse = global("torch._utils", "_rebuild_sparse_tensor");
    const bytes of_type = global("torch._tensor", "_rebuild_from_type_v2"), list = global("builtins", "list");
    const bytes tag = global("torch.jit._pickle", "restore_type_tag"), device = global("torch", "device");
    const bytes coo = text("torch.sparse_coo"), csr = text("torch.sparse_csr");
    const bytes affine = tuple({global("torch", "per_tensor_affine"), "N", "N"});
    const auto quantized_by = [&](const bytes& quantizer) {
        return called(quantized, {storage_id(), number(0), one_two, one_two, quantizer, "\x89", ")"});
    };
    const auto stored_as = [](const bytes& view) {
        return tuple({text("storage"), float_storage, text("0"), text("cpu"), number(6), view}) + "Q";
    };
    const auto tensor_of = [](const bytes& storage) {
        return called(global("torch._utils", "_rebuild_tensor_v2"),
                      {storage, number(0), one_two, one_two, "\x89", ")"});
    };
    const std::pair<bytes, const char*> rows[] = {
        {called(oldest, {storage_id(), number(0), one_two, one_two}), "ok, a tensor"},
        {called(oldest, {storage_id(), number(0), one_two, one_two, "\x89"}), "pickle_malformed"},
        {quantized_by(affine), "ok, a tensor"},
        {quantized_by("N"), "pickle_malformed"},
        {quantized_by(one_two), "pickle_malformed"},
        {called(quantized, {storage_id(), number(0), one_two, one_two, affine, "\x89", ")", "N"}), "pickle_malformed"},
        {tensor(9, {}, {"}(" + text("conj") + "\x88" + text("neg") + "\x88u"}), "ok, a tensor"},
        {tensor(9, {}, {"}" + text("neg") + "\x88s"}), "ok, a tensor"},
        {tensor(9, {}, {"}" + text("other") + "\x88s"}), "ok, an object"}, // of a newer version
        {called(global("torch._utils", "_rebuild_meta_tensor_no_storage"), {"N"}), "ok, a tensor"},
        {tensor_of(storage_id(3, text("meta"))), "ok, a tensor"},
        {called(sparse, {coo, tuple({tensor(), tensor(), one_two})}), "ok, a tensor"},
        {called(sparse, {csr, tuple({tensor(), tensor(), tensor(), one_two})}), "ok, a tensor"},
        {called(sparse, {coo}), "pickle_malformed"},
        {called(sparse, {"N", "N"}), "pickle_malformed"},
        {called(sparse, {coo, tuple({tensor(), "N", one_two})}), "pickle_malformed"},
        {called(sparse, {coo, tuple({"N", tensor(), one_two})}), "pickle_malformed"},
        {called(sparse, {coo, tuple({tensor(), tensor(), "N"})}), "pickle_malformed"},
        {called(sparse, {coo, tuple({tensor(), tensor_of(storage_id(3, text("meta"))), one_two})}), "pickle_malformed"},
        {called(ordered, {}), "ok, a dict"},
        {called(defaults, {}), "ok, a dict"},
        {called(defaults, {"N", "}"}), "ok, a dict"},
        {called(ordered, {"](]NNee"}), "pickle_malformed"}, // a list of no pairs
        {called(ordered, {"](](NNee"}), "ok, a dict"},
        {called(ordered, {"](Ne"}), "pickle_malformed"},
        {called(ordered, {"]()e"}), "pickle_malformed"},
        {called(ordered, {"](N\x85"
                          "e"}),
         "pickle_malformed"},
        {called(ordered, {"](NNN\x87"
                          "e"}),
         "pickle_malformed"},
        {called(ordered, {"]", "]"}), "pickle_malformed"},
        {called(of_bytes, {}), "ok, bytes"},
        {called(of_bytes, {"C\1a"}), "ok, bytes"},
        {called(of_bytes, {"N"}), "pickle_malformed"},
        {called(global("_codecs", "encode"), {text("a\xc3\xbf\xc2\x80"), text("latin1")}), "ok, bytes"},
        {called(global("_codecs", "encode"), {text("\xe2\x82\xac"), text("latin1")}), "pickle_malformed"},
        {called(global("_codecs", "encode"), {text("a\xc3"), text("latin1")}), "pickle_malformed"},
        {called(of_type, {global("torch._utils", "_rebuild_parameter"), "N", tuple({tensor(), "\x88", "}"}), "}"}),
         "ok, a tensor"},
        {called(of_type, {global("torch._utils", "_rebuild_parameter"), "N", tuple({tensor(), "\x88", "}"})}),
         "pickle_malformed"},
        {called(of_type, {"N", "N", ")", "}"}), "pickle_malformed"},
        {called(of_type, {ordered, "N", "N", "}"}), "pickle_malformed"},
        {called(of_type, {of_type, "N", ")", "}"}), "pickle_malformed"}, // not without an end
        {called(of_type, {ordered, "N", ")", "}"}), "ok, a dict"},
        {called(tag, {tensor(), text("Tensor")}), "ok, a tensor"},
        {called(tag, {tensor(), "N", "N"}), "pickle_malformed"},
        {called(global("torch.jit._pickle", "build_intlist"), {"]"}), "ok, a list"},
        {called(list, {}), "ok, a list"},
        {called(list, {")"}), "ok, a tuple"},
        {called(list, {"}"}), "pickle_malformed"},
        {called(device, {"N"}), "pickle_malformed"},
        {stored_as("N"), "ok, a storage"},
        {stored_as(tuple({text("1"), number(2), number(4)})), "ok, a storage"},
        {stored_as(tuple({text("1"), number(3), number(4)})), "out_of_bounds"},
        {stored_as(tuple({text("1"), number(2)})), "pickle_malformed"},
        {stored_as(tuple({text("1"), "N", number(4)})), "pickle_malformed"},
        {stored_as(tuple({text("1"), number(2), "N"})), "pickle_malformed"},
        {stored_as(number(1)), "pickle_malformed"},
        {"\x90", "pickle_malformed"}, // what stands on a mark, without one
        {"l", "pickle_malformed"},
        {"d", "pickle_malformed"},
        {"\x91", "pickle_malformed"},
        {"]e", "pickle_malformed"},
        {"L12\n", "ok, an int"},
        {tensor(1, bytes("\x8a\0", 2)), "ok, a tensor"}, // 0, of no bytes
        {global("torch.cuda", "FloatStorage"), "ok, a global"},
        {global("torch.cuda", "float32"), "ok, an unknown global"}, // of a device only storages are
        {called(global("torch", "Size"), {"\x8f"}), "ok, a set"},
        {called(global("torch", "Size"), {"cos\nsystem\n)R"}), "ok, an object"},
        {"L-99999999999999999999L\n", "ok, a text"}, // of more digits than 64 bits hold
        {"LL\n", "pickle_malformed"},
        {"I-\n", "pickle_malformed"},
        {"I1x\n", "pickle_malformed"},
        {"Np-1\n", "pickle_malformed"},
        {"g-1\n", "pickle_malformed"},
        {"Vtorch\nVFloatStorage\n\x93", "pickle_malformed"}, // named by text that has no place in the pickle
        {text("torch") + "VFloatStorage\n\x93", "pickle_malformed"},
        {ordered + "N\x81", "pickle_malformed"},
        {ordered + ")\x81", "ok, a dict"},
        {ordered + tuple({"N"}) + "\x81", "ok, an object"},
        {"cos\nsystem\n)R" + tuple({"}", "}"}) + "b", "ok, an object"},
        {"cos\nsystem\n)R" + tuple({"N", "}"}) + "b", "ok, an object"},
        {"cos\nsystem\n)R" + tuple({"}", "N"}) + "b", "ok, an object"},
        {storage_id() + "}b", "ok, a storage"},
        {"cos\nsystem\n}b", "ok, an unknown global"},
        {tuple({text("module"), "cos\nsystem\n", text("f"), text("s")}) + "Q", "ok, an unknown global"},
        {tuple({text("module"), "N", text("f"), text("s")}) + "Q", "pickle_malformed"},
    };
    for (const auto& [opcodes, expected] : rows) {
        CAPTURE(support::to_hex(support::bytes_of(opcodes)));
        CHECK(outcome_of("\x80\x02" + opcodes + ".") == expected);
    }
}

TEST_CASE("a pickle stacks no more than its limits allow") {
    using namespace opcodes_of_pickles;
    CHECK(outcome_of("\x80\x02" + bytes(2'000'000, 'N')) == "limit_exceeded");
    CHECK(outcome_of("\x80\x02" + bytes(2'000'000, '(')) == "limit_exceeded");
}

TEST_CASE("a pickle makes no more memory of its bytes than its limits allow, by whatever opcode") {
    using namespace opcodes_of_pickles;
    // Each of these adds as much to what is made, from a few bytes of the pickle.
    CHECK(outcome_of("\x80\x02" + support::repeated(1'800'000, "I1\n0") + "N.") == "limit_exceeded");
    const std::size_t most_on_stack = 1'000'000;
    const bytes large_tuple = "(" + bytes(most_on_stack, 'N') + "t";
    CHECK(outcome_of("\x80\x02" + large_tuple + ".") == "ok, a tuple");
    CHECK(outcome_of("\x80\x02" + support::repeated(16, large_tuple + "0") + "N.") == "limit_exceeded");
    constexpr std::size_t most_containers = std::size_t{1} << 22;
    CHECK(outcome_of("\x80\x02" + support::repeated(most_containers, "]0") + "N.") == "ok, None");
    CHECK(outcome_of("\x80\x02" + support::repeated(most_containers + 1, "]0") + "N.") == "limit_exceeded");
    // A text that is remembered once becomes bytes again and again: 3 times its size each time.
    const bytes long_text = text(bytes(1'100'000, 'x')) + bytes("q\0"
                                                                "0",
                                                                3);
    const bytes encoded = called(global("_codecs", "encode"), {bytes("h\0", 2), text("latin1")}) + "0";
    CHECK(outcome_of("\x80\x02" + long_text + support::repeated(10, encoded) + "N.") == "ok, None");
    for (const std::size_t times : std::initializer_list<std::size_t>{11, 12, 13}) {
        CAPTURE(times);
        CHECK(outcome_of("\x80\x02" + long_text + support::repeated(times, encoded) + "N.") ==
              (times > 11 ? "limit_exceeded" : "ok, None"));
    }
}
