// SPDX-License-Identifier: MIT
//
// Where graphs of an ONNX model are in one another: the next graph in the innermost one, and the path that leads there.
#ifndef ZTENSOR_DETAIL_FOREIGN_ONNX_NESTING_HPP
#define ZTENSOR_DETAIL_FOREIGN_ONNX_NESTING_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/onnx_attribute.hpp>
#include <ztensor/detail/foreign/onnx_tensor.hpp>
#include <ztensor/detail/foreign/protobuf.hpp>
#include <ztensor/detail/manifest/names.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
