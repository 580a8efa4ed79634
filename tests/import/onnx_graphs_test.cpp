// SPDX-License-Identifier: MIT
//
// What an ONNX model keeps outside of its initializers: constants of nodes, graphs in nodes, functions, training
// information; under which names, and what is listed instead. tests/corpus/foreign/onnx/graphs.onnx, which the onnx
// package wrote, has all of it; here are what that does not write, limits, and time.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/protobuf.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/format.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace onnx_graphs {

using support::bytes;
using support::little_endian;
using support::outcome;
using support::refusal;
using support::protobuf::field;
using support::protobuf::varint;
using ztensor::errc;

bytes floats(const std::vector<float>& values) {
    bytes all;
    for (const float each : values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &each, sizeof bits);
        all += little_endian(bits, 4);
    }
    return all;
}
bytes graph_tensor(const bytes& name, float value = 0) {
    return field(1, 1) + field(2, 1) + field(8, name) + field(9, floats({value}));
}
bytes attribute(const bytes& name, const bytes& content) {
    return field(5, field(1, name) + content);
}
bytes constant(const bytes& output, const bytes& attributes) {
    return field(1, field(2, output) + field(4, "Constant") + attributes);
}
bytes node(const bytes& name, const bytes& attributes) {
    return field(1, field(2, name + "_out") + (name.empty() ? "" : field(3, name)) + attributes);
}
bytes body(const bytes& graph, const bytes& name = "body") {
    return attribute(name, field(6, graph));
}
bytes initializer(const bytes& name, float value = 0) {
    return field(5, graph_tensor(name, value));
}
bytes onnx_graph_model(const bytes& graph, const bytes& more = {}) {
    return field(1, 10) + field(7, field(2, "g") + graph) + more;
}

ztensor::result<ztensor::reader> open_graphs(const bytes& content, const ztensor::read_options& options = {}) {
    return ztensor::open_any(std::make_shared<support::watched_source>(content), "x.onnx", options);
}
std::vector<std::string> names_of(const bytes& content) {
    const auto file = open_graphs(content);
    if (!file) {
        return {outcome(file)};
    }
    std::vector<std::string> names;
    for (const ztensor::object_view object : *file) {
        names.emplace_back(object.name());
    }
    return names;
}
using names = std::vector<std::string>;

} // namespace onnx_graphs

} // namespace

TEST_CASE("a constant of ONNX that is a number has one, be it left out because it is 0") {
    using namespace onnx_graphs;
    constexpr std::uint64_t float_type = 1, int_type = 2, floats_type = 6, ints_type = 7;
    const auto with_type = [](const bytes& output, std::uint64_t type) {
        return constant(output, field(5, field(1, "value") + field(20, type)));
    };
    const auto file = open_graphs(onnx_graph_model(with_type("f", float_type) + with_type("i", int_type) +
                                                   with_type("fs", floats_type) + with_type("is", ints_type)));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->read<float>("f").value() == std::vector<float>{0});
    CHECK(file->read<std::int64_t>("i").value() == std::vector<std::int64_t>{0});
    CHECK(file->find("i").value().shape().empty());
    CHECK(file->read<float>("fs").value().empty());
    CHECK(file->read<std::int64_t>("is").value().empty());
    CHECK(file->find("is").value().shape() == ztensor::shape{0});
}

TEST_CASE("lists of a constant are the same numbers, packed or each with a tag of its own") {
    using namespace onnx_graphs;
    const bytes one = floats({1.5F}), two = floats({-2});
    const auto tagged = [](const bytes& content) { return bytes("\x3d") + content; }; // field 7, of 32 bits
    const auto file =
        open_graphs(onnx_graph_model(constant("packed", attribute("value_floats", field(7, one + two))) +
                                     constant("tagged", attribute("value_floats", tagged(one) + tagged(two))) +
                                     constant("ints", attribute("value_ints", field(8, varint(300) + varint(0)))) +
                                     constant("ints_tagged", attribute("value_ints", field(8, 300) + field(8, 0)))));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->read<float>("packed").value() == std::vector<float>{1.5F, -2});
    CHECK(file->read<float>("tagged").value() == std::vector<float>{1.5F, -2});
    CHECK(file->read<std::int64_t>("ints").value() == std::vector<std::int64_t>{300, 0});
    CHECK(file->read<std::int64_t>("ints_tagged").value() == std::vector<std::int64_t>{300, 0});
}

TEST_CASE("a constant of ONNX may be sparse, and one that refers to its function has no value") {
    using namespace onnx_graphs;
    const bytes indices = field(1, 1) + field(2, 7) + field(9, little_endian(std::vector<std::uint64_t>{4}, 8));
    const bytes sparse =
        field(22, field(1, graph_tensor("inside", 2.5F)) + field(2, indices) + field(3, 2) + field(3, 3));
    const bytes reference = field(5, field(1, "value_int") + field(20, 2) + field(21, "size"));
    const auto file =
        open_graphs(onnx_graph_model(constant("s", attribute("sparse_value", sparse)) + constant("r", reference)));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->size() == 1);
    CHECK(file->skipped().empty());
    const auto view = ztensor::coo_view<float>::read(file->find("s").value());
    REQUIRE(outcome(view) == "ok");
    CHECK(view->to_dense().value() == std::vector<float>{0, 0, 0, 0, 2.5F, 0});
}

TEST_CASE("fields of a node may come in any order") {
    using namespace onnx_graphs;
    const bytes reversed =
        field(5, field(5, graph_tensor("inside")) + field(1, "value")) + field(4, "Constant") + field(2, "k");
    CHECK(names_of(onnx_graph_model(field(1, reversed))) == names{"k"});
    const bytes inside = field(5, field(6, initializer("w")) + field(1, "body")) + field(3, "n");
    CHECK(names_of(onnx_graph_model(initializer("w") + field(1, inside))) == names{"w", "n.body/w"});
}

TEST_CASE("a name of the model's own graph stays, whatever comes before it in the file") {
    using namespace onnx_graphs;
    CHECK(names_of(onnx_graph_model(node("If_0", body(initializer("w"), "then_branch")) + initializer("w"))) ==
          names{"w", "If_0.then_branch/w"});
    const bytes function = field(25, field(1, "f") + field(7, field(2, "w") + field(4, "Constant") +
                                                                  attribute("value", field(5, graph_tensor("")))));
    CHECK(names_of(field(1, 10) + function + field(7, initializer("w"))) == names{"w", "f/w"});
}

TEST_CASE("a name that is taken gets the path of its node, with numbers where that is taken, too") {
    using namespace onnx_graphs;
    const bytes graph = initializer("w") + node("n", body(initializer("w"))) + node("n", body(initializer("w"))) +
                        node("", body(initializer("w")));
    CHECK(names_of(onnx_graph_model(graph)) == names{"w", "n.body/w", "n#1.body#0/w", "_out.body/w"});
    const bytes deep = node("a", body(node("b", body(initializer("w"))) + initializer("w"))) + initializer("w");
    CHECK(names_of(onnx_graph_model(deep)) == names{"w", "a.body/w", "a.body/b.body/w"});
}

TEST_CASE("what an attribute of a function has by default is read, graphs too") {
    using namespace onnx_graphs;
    const bytes by_default = field(11, field(1, "weight") + field(5, graph_tensor("inside", 4))) +
                             field(11, field(1, "body") + field(6, initializer("w"))) +
                             field(11, field(1, "other") + field(6, initializer("w")));
    const bytes node_too = field(7, field(2, "y") + body(initializer("w")));
    CHECK(names_of(onnx_graph_model(initializer("v"), field(25, field(1, "f") + by_default + node_too))) ==
          names{"v", "weight", "w", "f/attribute.other/w", "f/y.body/w"});
}

TEST_CASE("two constants of one name in one graph are refused, wherever the graph is") {
    using namespace onnx_graphs;
    const bytes twice = initializer("w") + initializer("w");
    CHECK(refusal(open_graphs(onnx_graph_model(twice))) == errc::duplicate_key);
    CHECK(refusal(open_graphs(onnx_graph_model(node("n", body(twice))))) == errc::duplicate_key);
    CHECK(refusal(open_graphs(onnx_graph_model(initializer("w") + node("n", body(twice))))) == errc::duplicate_key);
}

TEST_CASE("graphs of ONNX are one in the other to 64 levels") {
    using namespace onnx_graphs;
    bytes graph = initializer("w", 3);
    for (int level = 0; level != 64; ++level) {
        graph = node("n", body(graph));
    }
    const auto deep = open_graphs(onnx_graph_model(graph));
    REQUIRE(outcome(deep) == "ok");
    CHECK(deep->read<float>("w").value() == std::vector<float>{3});
    CHECK(refusal(open_graphs(onnx_graph_model(node("n", body(graph))))) == errc::limit_exceeded);
}

TEST_CASE("names with a path are no longer than names are") {
    using namespace onnx_graphs;
    const bytes long_name(4000, 'n');
    CHECK(outcome(open_graphs(onnx_graph_model(node(long_name, body(initializer("w")))))) == "ok");
    CHECK(refusal(open_graphs(
              onnx_graph_model(initializer(bytes(100, 'w')) + node(long_name, body(initializer(bytes(100, 'w'))))))) ==
          errc::name_invalid);
    CHECK(refusal(open_graphs(onnx_graph_model(
              node(bytes(5000, 'n'), attribute("a", field(10, graph_tensor("")) + field(10, graph_tensor(""))))))) ==
          errc::name_invalid);
}

TEST_CASE("what may be weights and is no tensor is listed with its graph") {
    using namespace onnx_graphs;
    const bytes trees = field(1, field(2, "y") + field(3, "trees") + field(4, "TreeEnsembleRegressor") +
                                     attribute("nodes_values", field(7, bytes(8, '\0'))) + field(7, "ai.onnx.ml"));
    const bytes engine = node("engine", attribute("blob", field(4, bytes(5000, '\1'))));
    const bytes unknown = field(5, field(1, 1) + field(2, 99) + field(8, "unknown") + field(9, "a"));
    const bytes text = constant("t", attribute("value_string", field(4, "text")));
    const auto file =
        open_graphs(onnx_graph_model(initializer("w") + trees + node("n", body(text + engine + unknown))));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->size() == 1);
    std::vector<std::string> found;
    for (const ztensor::skipped_item& each : file->skipped()) {
        found.push_back(each.where + each.name + ": " + each.why);
    }
    CHECK(found == names{"trees.nodes_values: its numbers are an attribute of a node TreeEnsembleRegressor",
                         "n.body/t: it is a constant of text", "n.body/engine.blob: it is bytes of a node ",
                         "n.body/unknown: its elements are of the type 99, which is none of ours"});
}

TEST_CASE("of more skipped things than a list may hold the first are named and the others counted") {
    using namespace onnx_graphs;
    bytes graph;
    constexpr std::size_t many = 20000;
    for (std::size_t i = 0; i != many; ++i) {
        graph += field(5, field(2, 8) + field(8, "t"));
    }
    const auto file = open_graphs(onnx_graph_model(graph));
    REQUIRE(outcome(file) == "ok");
    const std::size_t listed = file->skipped().size() - 1;
    CHECK(listed < many / 4);
    CHECK(file->skipped().back().why == std::to_string(many - listed) + " more like these are not named");
}

TEST_CASE("what lies in another file counts, whatever else the tensor holds, and is found below the model") {
    using namespace onnx_graphs;
    const support::temp_dir folder;
    std::filesystem::create_directories(folder / "data" / "more");
    support::write_file(folder / "data" / "more" / "w.bin", floats({1, 2}));
    const auto open_with = [&](const bytes& location, const bytes& stale) {
        const auto entry = [](const bytes& key, const bytes& value) {
            return field(13, field(1, key) + field(2, value));
        };
        const bytes external =
            field(1, 1) + field(2, 1) + stale + entry("location", location) + entry("offset", "4") + field(14, 1);
        support::write_file(folder / "m.onnx", onnx_graph_model(constant("w", attribute("value", field(5, external)))));
        return ztensor::open_any(folder / "m.onnx");
    };
    const bytes nine = floats({9});
    for (const bytes& stale :
         {bytes(), field(9, nine), field(9, ""), field(4, nine), field(9, nine) + field(4, nine)}) {
        for (const char* const location : {"data/more/w.bin", "./data/more/w.bin", "data//more/./w.bin"}) {
            CAPTURE(location);
            const auto file = open_with(location, stale);
            REQUIRE(outcome(file) == "ok");
            CHECK(file->read<float>("w").value() == std::vector<float>{2});
        }
    }
    CHECK(refusal(open_with("../data/more/w.bin", "")) == errc::name_invalid);
    CHECK(refusal(open_with("data/../../w.bin", "")) == errc::name_invalid);
}

TEST_CASE("a model is read a bounded number of times, however many nodes and graphs it has") {
    using namespace onnx_graphs;
    constexpr std::size_t many = 20000;
    bytes graph;
    for (std::size_t i = 0; i != many; ++i) {
        graph += node("n" + std::to_string(i), body(i % 100 == 0 ? initializer("w") : bytes(field(2, "empty"))));
    }
    const bytes nested = node("outer", body(node("middle", body(graph))));
    const auto source = std::make_shared<support::watched_source>(onnx_graph_model(nested));
    const auto file = ztensor::open_any(source, "x.onnx");
    REQUIRE(outcome(file) == "ok");
    CHECK(file->size() == many / 100);
    std::uint64_t read = 0;
    for (const auto& each : source->reads) {
        read += each.length;
    }
    CHECK(read < 16 * source->size());
}

TEST_CASE("constants of ONNX's own nodes are read under either name of its domain, and texts of them are listed") {
    using namespace onnx_graphs;
    constexpr std::uint64_t text_type = 3, texts_type = 8;
    const auto with_type = [](const bytes& output, std::uint64_t type) {
        return constant(output, field(5, field(1, "value") + field(20, type)));
    };
    const bytes number = attribute("value_float", field(2, std::uint64_t{0}) + field(20, 1));
    const bytes named = field(1, field(2, "d") + field(4, "Constant") + number + field(7, "ai.onnx"));
    const bytes other = field(1, field(2, "o") + field(4, "Constant") + number + field(7, "com.other"));
    const bytes no_output = field(1, field(3, "node") + field(4, "Constant") + number);
    const auto file = open_graphs(onnx_graph_model(named + other + no_output + with_type("t", text_type) +
                                                   with_type("ts", texts_type) + initializer("w")));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->contains("d"));
    CHECK_FALSE(file->contains("o"));
    CHECK(file->contains("node.value_float"));
    CHECK(file->contains("w"));
    std::vector<std::string> skipped;
    for (const ztensor::skipped_item& each : file->skipped()) {
        skipped.emplace_back(each.name);
    }
    CHECK(skipped == names{"t", "ts"});
}

TEST_CASE("names of nodes and attributes around a graph are no longer than a name together") {
    using namespace onnx_graphs;
    const bytes half(2500, 'n');
    CHECK(refusal(open_graphs(onnx_graph_model(initializer("w") + node(half, body(initializer("w"), half))))) ==
          errc::name_invalid);
    const bytes twice = node(half, body(node(half, body(initializer("w")))));
    CHECK(refusal(open_graphs(onnx_graph_model(initializer("w") + twice))) == errc::name_invalid);
    CHECK(refusal(open_graphs(onnx_graph_model(
              node("n", attribute(bytes(5000, 'a'), field(10, graph_tensor("")) + field(10, graph_tensor(""))))))) ==
          errc::name_invalid);
}

TEST_CASE("tensors of a node without a name are called after its attribute, and those of a list are numbered") {
    using namespace onnx_graphs;
    const auto of_node = [](const bytes& type, const bytes& attributes) {
        return onnx_graph_model(field(1, field(4, type) + attributes));
    };
    const bytes one = graph_tensor(""), two = field(10, one) + field(10, one);
    CHECK(names_of(of_node("Op", attribute("t", field(5, one)))) == names{"t"});
    CHECK(names_of(of_node("Constant", attribute("value", field(5, one)))) == names{"value"});
    CHECK(names_of(of_node("Constant", attribute("value", two))) == names{"value.0", "value.1"});
    CHECK(names_of(onnx_graph_model(constant("c", attribute("value", two)))) == names{"c.value.0", "c.value.1"});
    CHECK(names_of(onnx_graph_model(node("n", attribute("t", two)))) == names{"n.t.0", "n.t.1"});
    const bytes sparse =
        field(1, one) + field(2, field(1, 1) + field(2, 7) + field(9, little_endian(0, 8))) + field(3, 4);
    CHECK(names_of(onnx_graph_model(node("n", attribute("s", field(22, sparse))))) == names{"n.s"});
    CHECK(names_of(onnx_graph_model(node("n", attribute("s", field(23, sparse) + field(23, sparse))))) ==
          names{"n.s.0", "n.s.1"});
    // A graph in a node without a name has the node's number in its path.
    CHECK(names_of(onnx_graph_model(initializer("w") + field(1, field(4, "If") + body(initializer("w"))))) ==
          names{"w", "#0.body/w"});
    // A constant that says nothing of its value has none.
    const auto nothing =
        open_graphs(onnx_graph_model(initializer("w") + constant("c", attribute("value", field(20, 99)))));
    REQUIRE(outcome(nothing) == "ok");
    CHECK(nothing->size() == 1);
    CHECK(nothing->skipped().empty());
    // What leads to a graph is no longer than a name, however many graphs are around.
    const bytes half(2500, 'n');
    const bytes thrice = node(half, body(node(half, body(node(half, body(initializer("w")))))));
    CHECK(refusal(open_graphs(onnx_graph_model(initializer("w") + thrice))) == errc::name_invalid);
}
