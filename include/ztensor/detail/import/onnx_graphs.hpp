// SPDX-License-Identifier: MIT
//
// ONNX: graphs, and graphs within their nodes.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_GRAPHS_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_GRAPHS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/onnx_objects.hpp>
#include <ztensor/detail/import/onnx_tensor.hpp>
#include <ztensor/detail/import/protobuf.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- onnx nesting
//
// Where graphs of an ONNX model are in one another: the next graph in the innermost one, and the path that leads there.

/// A GraphProto or a FunctionProto that is in no other.
struct onnx_root {
    bool is_function = false;
    std::string path;      ///< in front of names that are taken; "" for the graph of the model
    std::string long_path; ///< likewise, where the path is that of another one, too
};

struct onnx_function_field {
    static constexpr std::uint64_t name = 1, domain = 10, attribute_default = 11;
};
/// The number of the field that holds the nodes of a graph, or of a function.
[[nodiscard]] constexpr std::uint64_t onnx_node_field_in(bool is_function) noexcept {
    return is_function ? 7 : 1;
}

class onnx_nesting {
public:
    explicit onnx_nesting(proto_reader& from) : from_(from) {}

    void start(onnx_root root) {
        root_ = std::move(root);
        graphs_.clear();
    }
    [[nodiscard]] bool empty() const noexcept { return graphs_.empty(); }
    void leave() noexcept { graphs_.pop_back(); }
    /// Errors: limit_exceeded.
    [[nodiscard]] result<void> enter(const file_range& graph) {
        constexpr std::size_t most_levels = 64;
        if (graphs_.size() == most_levels) {
            return fail(errc::limit_exceeded, "graphs are one in the other, deeper than {} levels", {most_levels})
                .at(graph.offset);
        }
        graphs_.push_back({graph.offset, graph.offset + graph.length});
        return {};
    }

    /// What leads to the graph that is read: the node and the attribute it is in, of each graph around. Nothing if that
    /// is longer than a name may be.
    [[nodiscard]] std::optional<std::string> path(bool is_long) const {
        const std::string& root = is_long ? root_.long_path : root_.path;
        std::string all = root.substr(0, max_name_bytes + 1);
        for (const open_graph& each : graphs_) {
            if (all.size() > max_name_bytes || each.node.size() + each.attribute.size() > max_name_bytes) {
                return std::nullopt;
            }
            all += each.node;
            if (is_long || each.node.empty()) {
                all += '#' + std::to_string(each.nodes - 1);
            }
            all += '.' + each.attribute;
            if (each.graphs > 1 || is_long) {
                all += '#' + std::to_string(each.graphs - 1);
            }
            all += '/';
        }
        return all.size() > max_name_bytes ? std::nullopt : std::optional<std::string>(std::move(all));
    }
    /// The next graph in the innermost one, or nothing.
    [[nodiscard]] result<std::optional<file_range>> next_graph() {
        open_graph& in = graphs_.back();
        for (;;) {
            if (in.attribute_position < in.attribute_end) {
                const result<std::optional<file_range>> found = next_of_attribute(in);
                if (!found || *found) {
                    return found;
                }
                continue;
            }
            const bool is_in_node = in.node_position < in.node_end;
            if (!is_in_node && in.position >= in.end) {
                return std::optional<file_range>();
            }
            ZTENSOR_TRY(is_in_node ? next_of_node(in) : next_of_graph(in));
        }
    }

private:
    /// Where to go on in a graph, and within it in a node, and within that in an attribute.
    struct open_graph {
        std::uint64_t position;
        std::uint64_t end;
        std::uint64_t node_position = 0;
        std::uint64_t node_end = 0;
        std::uint64_t attribute_position = 0;
        std::uint64_t attribute_end = 0;
        std::uint64_t nodes = 0;  ///< so far
        std::uint64_t graphs = 0; ///< of the attribute, so far
        std::string node{};       ///< what the node is called
        std::string attribute{};
    };

    [[nodiscard]] result<std::optional<file_range>> next_of_attribute(open_graph& in) {
        from_.seek(in.attribute_position);
        ZTENSOR_TRY_ASSIGN(const proto_field field, from_.next(in.attribute_end));
        const bool is_graph = field.number == onnx_attribute_field::g || field.number == onnx_attribute_field::graphs;
        if (!is_graph) {
            const result<void> skipped = from_.skip(field);
            in.attribute_position = from_.position();
            return skipped ? result<std::optional<file_range>>(std::nullopt) : skipped.error();
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t end, from_.message(field));
        ++in.graphs;
        in.attribute_position = end;
        return std::optional<file_range>(file_range{from_.position(), field.value});
    }

    [[nodiscard]] result<void> next_of_node(open_graph& in) {
        from_.seek(in.node_position);
        ZTENSOR_TRY_ASSIGN(const proto_field field, from_.next(in.node_end));
        if (field.number != onnx_node_field::attribute) {
            const result<void> skipped = from_.skip(field);
            in.node_position = from_.position();
            return skipped;
        }
        return from_.in_message(field, [&](std::uint64_t end) {
            in.node_position = end;
            return enter_attribute(in, end);
        });
    }

    [[nodiscard]] result<void> enter_attribute(open_graph& in, std::uint64_t end) {
        const std::uint64_t begin = from_.position();
        ZTENSOR_TRY_ASSIGN(onnx_attribute attribute, read_onnx_attribute(from_, end));
        if (attribute.has_graphs) {
            in.attribute = std::move(attribute.name);
            in.graphs = 0;
            in.attribute_position = begin;
            in.attribute_end = end;
        }
        return {};
    }

    [[nodiscard]] result<void> next_of_graph(open_graph& in) {
        const bool is_function = root_.is_function && graphs_.size() == 1;
        from_.seek(in.position);
        ZTENSOR_TRY_ASSIGN(const proto_field field, from_.next(in.end));
        if (is_function && field.number == onnx_function_field::attribute_default) {
            return from_.in_message(field, [&](std::uint64_t end) {
                ++in.nodes;
                in.position = end;
                in.node = "attribute";
                return enter_attribute(in, end);
            });
        }
        if (field.number != onnx_node_field_in(is_function)) {
            const result<void> skipped = from_.skip(field);
            in.position = from_.position();
            return skipped;
        }
        return from_.in_message(field, [&](std::uint64_t end) -> result<void> {
            const std::uint64_t begin = from_.position();
            ZTENSOR_TRY_ASSIGN(const onnx_node node, read_onnx_node(from_, end));
            ++in.nodes;
            in.position = end;
            in.node = node.label();
            in.node_position = begin;
            in.node_end = node.has_attributes ? end : begin;
            return {};
        });
    }

    proto_reader& from_;
    onnx_root root_;
    std::vector<open_graph> graphs_; ///< the outermost first
};

// -- onnx graphs
//
// The graphs of an ONNX model, one in the other, and the constants in each. Nothing calls itself: a stack of bounded
// depth holds where to go on in each graph around.

/// Reads a graph, then the graphs in its nodes, in the order of the file; of each its own constants come before those
/// of the graphs in it. Each byte is read twice at most, but for what a nested graph is passed over.
class onnx_graphs {
public:
    onnx_graphs(proto_reader& from, onnx_objects& to) : from_(from), to_(to), around_(from) {}

    /// The root at the position, which ends at `end`, and all in it.
    [[nodiscard]] result<void> read(std::uint64_t end, onnx_root root) {
        const bool is_function = root.is_function;
        around_.start(std::move(root));
        ZTENSOR_TRY(enter({from_.position(), end - from_.position()}, is_function));
        while (!around_.empty()) {
            ZTENSOR_TRY_ASSIGN(const std::optional<file_range> next, around_.next_graph());
            if (!next) {
                around_.leave();
                continue;
            }
            ZTENSOR_TRY(enter(*next, false));
        }
        return from_.seek(end), result<void>();
    }

private:
    // -- names

    /// Its own name, unless another graph has an object of that name. Errors: name_invalid.
    [[nodiscard]] result<std::string> name_for(const std::string& own) const {
        if (own.empty()) {
            return fail(errc::name_invalid, "a constant has no name");
        }
        if (own.size() <= max_name_bytes && !to_.is_taken(own)) {
            return own;
        }
        for (const bool is_long : {false, true}) {
            const std::optional<std::string> before = around_.path(is_long);
            if (!before || before->size() + own.size() > max_name_bytes) {
                return fail(errc::name_invalid,
                            "the name of a constant takes more than {} bytes, with the path of its "
                            "graph where another one has it",
                            {max_name_bytes});
            }
            if (is_long || !to_.is_taken(*before + own)) {
                return *before + own;
            }
        }
        return own;
    }
    void skip(std::string_view name, std::string why) {
        to_.skip(name, around_.path(false).value_or(std::string()), std::move(why));
    }

    // -- the constants of a graph

    /// Those of a graph or function, but not of the graphs in it; gives whether there are such.
    [[nodiscard]] result<bool> read_constants(std::uint64_t graph_end, bool is_function) {
        constexpr std::uint64_t initializer = 5, sparse_initializer = 15;
        to_.start_graph();
        has_graphs_ = false;
        onnx_node function; // the defaults of its attributes are those of no node
        function.domain = "function";
        const result<void> read = from_.for_each_field(graph_end, [&](const proto_field& field) {
            if (field.number == onnx_node_field_in(is_function)) {
                return from_.in_message(field, [&](std::uint64_t end) { return read_node(end); });
            }
            if (is_function && field.number == onnx_function_field::attribute_default) {
                return from_.in_message(field, [&](std::uint64_t end) { return read_attribute(function, end); });
            }
            if (!is_function && field.number == initializer) {
                return from_.in_message(field, [&](std::uint64_t end) { return add_tensor(end, nullptr); });
            }
            if (!is_function && field.number == sparse_initializer) {
                return from_.in_message(field, [&](std::uint64_t end) { return add_sparse(end, nullptr); });
            }
            return from_.skip(field);
        });
        return read ? result<bool>(has_graphs_) : read.error();
    }

    [[nodiscard]] result<void> read_node(std::uint64_t node_end) {
        const std::uint64_t begin = from_.position();
        const result<onnx_node> node = read_onnx_node(from_, node_end);
        if (!node || !node->has_attributes) {
            return node ? result<void>() : node.error();
        }
        from_.seek(begin);
        return from_.for_each_field(node_end, [&](const proto_field& field) {
            return field.number == onnx_node_field::attribute
                       ? from_.in_message(field, [&](std::uint64_t end) { return read_attribute(*node, end); })
                       : from_.skip(field);
        });
    }

    [[nodiscard]] result<void> read_attribute(const onnx_node& node, std::uint64_t end) {
        ZTENSOR_TRY_ASSIGN(const onnx_attribute attribute, read_onnx_attribute(from_, end));
        has_graphs_ = has_graphs_ || attribute.has_graphs;
        if (attribute.tensors != 0) {
            return read_tensors(node, attribute);
        }
        return node.op_type == "Constant" && node.is_standard() ? add_constant(node, attribute)
                                                                : list_values(node, attribute);
    }

    /// A node has one tensor, or a list; of a node that does nothing but give it, it has the output's name.
    [[nodiscard]] result<void> read_tensors(const onnx_node& node, const onnx_attribute& attribute) {
        using of = onnx_attribute_field;
        if (node.label().size() > max_name_bytes || attribute.name.size() > max_name_bytes) {
            return fail(errc::name_invalid,
                        "a node or an attribute that holds tensors has a name of more than {} bytes", {max_name_bytes});
        }
        const bool is_output = node.is_standard() && !node.output.empty() && attribute.tensors == 1 &&
                               (node.op_type == "Constant" || node.op_type == "ConstantOfShape");
        std::uint64_t count = 0;
        from_.seek(attribute.message.offset);
        return from_.for_each_field(attribute.message.offset + attribute.message.length, [&](const proto_field& field) {
            const bool is_dense = field.number == of::t || field.number == of::tensors;
            if (!is_dense && field.number != of::sparse_tensor && field.number != of::sparse_tensors) {
                return from_.skip(field);
            }
            std::string name = is_output ? node.output : name_of(node, attribute);
            name += attribute.tensors > 1 ? '.' + std::to_string(count++) : std::string();
            return from_.in_message(
                field, [&](std::uint64_t end) { return is_dense ? add_tensor(end, &name) : add_sparse(end, &name); });
        });
    }

    [[nodiscard]] static std::string name_of(const onnx_node& node, const onnx_attribute& attribute) {
        return node.label().empty() ? attribute.name : node.label() + '.' + attribute.name;
    }

    /// The value of a Constant that is no tensor.
    [[nodiscard]] result<void> add_constant(const onnx_node& node, const onnx_attribute& attribute) {
        using kind = onnx_attribute_type;
        constexpr std::uint64_t f32 = 1, i64 = 7;
        if (attribute.is_reference) { // each call of the function brings its own
            return {};
        }
        ZTENSOR_TRY_ASSIGN(const std::string name,
                           name_for(node.output.empty() ? name_of(node, attribute) : node.output));
        if (attribute.has_float || attribute.type == kind::number) {
            return to_.add_scalar(name, f32, attribute.float_bits);
        }
        if (attribute.has_integer || attribute.type == kind::integer) {
            return to_.add_scalar(name, i64, attribute.integer);
        }
        if (attribute.floats != 0 || attribute.type == kind::numbers) {
            return to_.add_list(name, attribute.message, onnx_attribute_field::floats, f32, attribute.floats);
        }
        if (attribute.ints != 0 || attribute.type == kind::integers) {
            return to_.add_list(name, attribute.message, onnx_attribute_field::ints, i64, attribute.ints);
        }
        if (attribute.has_text || attribute.texts != 0 || attribute.type == kind::text ||
            attribute.type == kind::texts) {
            skip(name, "it is a constant of text");
        }
        return {};
    }

    /// Other attributes say what a node does. Those that may be weights all the same are listed: numbers of nodes that
    /// are not ONNX's own, such as trees and linear models, and long runs of bytes, such as compiled engines.
    [[nodiscard]] result<void> list_values(const onnx_node& node, const onnx_attribute& attribute) {
        constexpr std::uint64_t longest_text = 4096;
        if (!node.is_standard() && attribute.floats != 0) {
            skip(name_of(node, attribute), "its numbers are an attribute of a node " + node.op_type);
        } else if (attribute.text_bytes > longest_text) {
            skip(name_of(node, attribute), "it is bytes of a node " + node.op_type);
        }
        return {};
    }

    /// `name` null: its own.
    [[nodiscard]] result<void> add_tensor(std::uint64_t end, const std::string* name) {
        ZTENSOR_TRY_ASSIGN(const onnx_tensor tensor, onnx_tensor_reader(from_, end).read());
        const result<std::string> found = name_for(name != nullptr ? *name : tensor.name);
        return found ? add(*found, tensor, tensor.type) : found.error();
    }
    [[nodiscard]] result<void> add_sparse(std::uint64_t end, const std::string* name) {
        ZTENSOR_TRY_ASSIGN(const onnx_sparse_tensor tensor, to_.read_sparse(end));
        const result<std::string> found = name_for(name != nullptr ? *name : tensor.values.name);
        return found ? add(*found, tensor, tensor.values.type) : found.error();
    }
    template <class Tensor>
    [[nodiscard]] result<void> add(const std::string& name, const Tensor& tensor, std::uint64_t type) {
        constexpr std::uint64_t text = 8;
        if (find_onnx_type(type) != nullptr) {
            return to_.add(name, tensor);
        }
        skip(name, type == text ? "it is a tensor of texts"
                                : "its elements are of the type " + std::to_string(type) + ", which is none of ours");
        return {};
    }

    // -- the graphs in a graph

    /// Reads its constants, and goes on in it if there are graphs in it.
    [[nodiscard]] result<void> enter(const file_range& graph, bool is_function) {
        from_.seek(graph.offset);
        ZTENSOR_TRY_ASSIGN(const bool has_graphs, read_constants(graph.offset + graph.length, is_function));
        return has_graphs ? around_.enter(graph) : result<void>();
    }

    proto_reader& from_;
    onnx_objects& to_;
    onnx_nesting around_;     ///< the graph that is read
    bool has_graphs_ = false; ///< the one whose constants are being read
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
