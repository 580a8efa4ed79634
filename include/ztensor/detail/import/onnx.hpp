// SPDX-License-Identifier: MIT
//
// ONNX models: their initializers and constants, dense and sparse, of all graphs and functions, wherever these keep
// their elements. Of the rest of a model only its metadata_props are looked at, which become attributes.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/onnx_objects.hpp>
#include <ztensor/detail/import/onnx_tensor.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/result.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- onnx nodes
//
// ONNX's NodeProto and AttributeProto: what they say, without the tensors and graphs in them.

/// Numbers of fields.
struct onnx_node_field {
    static constexpr uint64_t output = 2, name = 3, op_type = 4, attribute = 5, domain = 7;
};
struct onnx_attribute_field {
    static constexpr uint64_t name = 1, f = 2, i = 3, s = 4, t = 5, g = 6, floats = 7, ints = 8, strings = 9,
                              tensors = 10, graphs = 11, type = 20, ref_attr_name = 21, sparse_tensor = 22,
                              sparse_tensors = 23;
};
/// Of AttributeProto.AttributeType.
struct onnx_attribute_type {
    static constexpr uint64_t number = 1, integer = 2, text = 3, numbers = 6, integers = 7, texts = 8;
};

/// What a NodeProto says of itself.
struct onnx_node {
    string name;
    string output; ///< the first
    string op_type;
    string domain;
    bool has_attributes = false;

    /// What its attributes are called after.
    [[nodiscard]] const string& label() const noexcept { return name.empty() ? output : name; }
    [[nodiscard]] bool is_standard() const noexcept { return domain.empty() || domain == "ai.onnx"; }
};

/// What an AttributeProto says. Writers of proto3 leave out a number that is 0: then the type alone tells.
struct onnx_attribute {
    string name;
    file_range message;
    uint64_t type = 0;
    uint64_t float_bits = 0;
    uint64_t integer = 0;
    uint64_t text_bytes = 0;
    uint64_t floats = 0; ///< how many of each
    uint64_t ints = 0;
    uint64_t tensors = 0; ///< dense and sparse ones
    bool has_float = false;
    bool has_integer = false;
    bool has_text = false; ///< one or several
    bool has_graphs = false;
    bool is_reference = false; ///< to an attribute of the function that the node is in
};

/// The NodeProto that ends at `end`.
inline result<onnx_node> read_onnx_node(proto_reader& from, uint64_t end) {
    onnx_node node;
    bool has_output = false;
    const auto take = [&](const proto_field& field) {
        string* const text = field.number == onnx_node_field::output && !std::exchange(has_output, true) ? &node.output
                             : field.number == onnx_node_field::name                                     ? &node.name
                             : field.number == onnx_node_field::op_type                                  ? &node.op_type
                             : field.number == onnx_node_field::domain                                   ? &node.domain
                                                                                                         : nullptr;
        node.has_attributes = node.has_attributes || field.number == onnx_node_field::attribute;
        return text != nullptr ? from.take_text(field, *text) : from.skip(field);
    };
    ZTENSOR_TRY(from.for_each_field(end, take));
    return node;
}

/// The AttributeProto that ends at `end`.
inline result<onnx_attribute> read_onnx_attribute(proto_reader& from, uint64_t end) {
    using of = onnx_attribute_field;
    onnx_attribute read;
    read.message = {from.position(), end - from.position()};
    const auto count = [&](const proto_field& field, size_t width, uint64_t& numbers) {
        return from.for_each_number(field, width, [&numbers](uint64_t) { return ++numbers, result<void>(); });
    };
    const auto take = [&](const proto_field& field) -> result<void> {
        switch (field.number) {
        case of::name:
            return from.take_text(field, read.name);
        case of::f:
            read.float_bits = field.value;
            read.has_float = true;
            break;
        case of::i:
            read.integer = field.value;
            read.has_integer = true;
            break;
        case of::s:
            read.text_bytes = field.value;
            read.has_text = true;
            break;
        case of::floats:
            return count(field, 4, read.floats);
        case of::ints:
            return count(field, 0, read.ints);
        case of::strings:
            read.has_text = true;
            break;
        case of::t:
        case of::tensors:
        case of::sparse_tensor:
        case of::sparse_tensors:
            ++read.tensors;
            break;
        case of::g:
        case of::graphs:
            read.has_graphs = true;
            break;
        case of::type:
            read.type = field.value;
            break;
        case of::ref_attr_name:
            read.is_reference = field.value != 0;
            break;
        default:
            break;
        }
        return from.skip(field);
    };
    ZTENSOR_TRY(from.for_each_field(end, take));
    return read;
}

// -- onnx graphs
//
// The graphs of an ONNX model, one in the other, and the constants in each. Nothing calls itself: a stack of bounded
// depth holds where to go on in each graph around.

/// A GraphProto or a FunctionProto that is in no other.
struct onnx_root {
    bool is_function = false;
    string path;      ///< in front of names that are taken; "" for the graph of the model
    string long_path; ///< likewise, where the path is that of another one, too
};

struct onnx_function_field {
    static constexpr uint64_t name = 1, domain = 10, attribute_default = 11;
};
/// The number of the field that holds the nodes of a graph, or of a function.
[[nodiscard]] constexpr uint64_t onnx_node_field_in(bool is_function) noexcept {
    return is_function ? 7 : 1;
}

/// Reads a graph, then the graphs in its nodes, in the order of the file; of each its own constants come before those
/// of the graphs in it. Each byte is read twice at most, but for what a nested graph is passed over.
class onnx_graphs {
public:
    onnx_graphs(proto_reader& from, onnx_objects& to) : from_(from), to_(to) {}

    /// The root at the position, which ends at `end`, and all in it.
    result<void> read(uint64_t end, onnx_root root) {
        root_ = std::move(root);
        ZTENSOR_TRY(enter_graph(root_.is_function ? level_kind::function : level_kind::graph, end));
        while (!levels_.empty()) {
            level& innermost = levels_.back();
            if (innermost.position >= innermost.end) {
                levels_.pop_back();
                continue;
            }
            from_.seek(innermost.position);
            ZTENSOR_TRY_ASSIGN(const proto_field field, from_.next(innermost.end));
            if (!leads_to_graphs(innermost.kind, field.number)) {
                ZTENSOR_TRY(from_.skip(field));
                innermost.position = from_.position();
                continue;
            }
            ++innermost.count;
            const auto step = [&](uint64_t field_end) {
                innermost.position = field_end;
                return step_into(innermost.kind, field, field_end);
            };
            ZTENSOR_TRY(from_.in_message(field, step));
        }
        return from_.seek(end), result<void>();
    }

private:
    // -- graphs within nodes

    enum class level_kind : uint8_t { graph, function, node, attribute };

    /// Where to go on in a message. A graph, a node in it, an attribute of that, a graph in that, ...
    struct level {
        level_kind kind;
        uint64_t position;
        uint64_t end;
        string label;       ///< what a node or an attribute is called
        uint64_t count = 0; ///< of the nodes or graphs in it, so far
    };

    [[nodiscard]] static bool leads_to_graphs(level_kind in, uint64_t field) noexcept {
        switch (in) {
        case level_kind::graph:
            return field == onnx_node_field_in(false);
        case level_kind::function:
            return field == onnx_node_field_in(true) || field == onnx_function_field::attribute_default;
        case level_kind::node:
            return field == onnx_node_field::attribute;
        default:
            return field == onnx_attribute_field::g || field == onnx_attribute_field::graphs;
        }
    }

    result<void> step_into(level_kind in, const proto_field& field, uint64_t end) {
        const uint64_t begin = from_.position();
        if (in == level_kind::attribute) {
            return enter_graph(level_kind::graph, end);
        }
        if (in == level_kind::function && field.number == onnx_function_field::attribute_default) {
            levels_.push_back({level_kind::node, end, end, "attribute"}); // of no node
        } else if (in != level_kind::node) {
            ZTENSOR_TRY_ASSIGN(const onnx_node node, read_onnx_node(from_, end));
            if (node.has_attributes) {
                levels_.push_back({level_kind::node, begin, end, node.label()});
            }
            return {};
        }
        ZTENSOR_TRY_ASSIGN(onnx_attribute attribute, read_onnx_attribute(from_, end));
        if (attribute.has_graphs) {
            levels_.push_back({level_kind::attribute, begin, end, std::move(attribute.name)});
        }
        return {};
    }

    /// Reads its constants, and goes on in it if there are graphs in it. Errors: limit_exceeded.
    result<void> enter_graph(level_kind kind, uint64_t end) {
        constexpr size_t most_graphs = 64, levels_each = 3;
        const uint64_t begin = from_.position();
        ZTENSOR_TRY_ASSIGN(const bool has_graphs, read_constants(end, kind == level_kind::function));
        if (has_graphs && levels_.size() == most_graphs * levels_each) {
            return fail(errc::limit_exceeded, "graphs are one in the other, deeper than {} levels", {most_graphs})
                .at(begin);
        }
        if (has_graphs) {
            levels_.push_back({kind, begin, end, string()});
        }
        return {};
    }

    /// What leads to the graph that is read: the node and the attribute it is in, of each graph around. Nothing if that
    /// is longer than a name may be.
    [[nodiscard]] optional<string> path(bool is_long) const {
        string all = (is_long ? root_.long_path : root_.path).substr(0, max_name_bytes + 1);
        for (size_t i = 0; i + 2 < levels_.size(); i += 3) {
            const level &graph = levels_[i], &node = levels_[i + 1], &attribute = levels_[i + 2];
            if (all.size() > max_name_bytes || node.label.size() + attribute.label.size() > max_name_bytes) {
                return std::nullopt;
            }
            all += node.label;
            if (is_long || node.label.empty()) {
                all += '#' + std::to_string(graph.count - 1);
            }
            all += '.' + attribute.label;
            if (attribute.count > 1 || is_long) {
                all += '#' + std::to_string(attribute.count - 1);
            }
            all += '/';
        }
        return all.size() > max_name_bytes ? std::nullopt : optional<string>(std::move(all));
    }

    // -- names

    /// Its own name, unless another graph has an object of that name. Errors: name_invalid.
    result<string> name_for(const string& own) const {
        if (own.empty()) {
            return fail(errc::name_invalid, "a constant has no name");
        }
        if (own.size() <= max_name_bytes && !to_.is_taken(own)) {
            return own;
        }
        for (const bool is_long : {false, true}) {
            const optional<string> before = path(is_long);
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
    void skip(string_view name, string why) { to_.skips().add(name, path(false).value_or(string()), std::move(why)); }

    // -- the constants of a graph

    /// Those of a graph or function, but not of the graphs in it; gives whether there are such.
    result<bool> read_constants(uint64_t graph_end, bool is_function) {
        constexpr uint64_t initializer = 5, sparse_initializer = 15;
        to_.start_graph();
        has_graphs_ = false;
        onnx_node function; // the defaults of its attributes are those of no node
        function.domain = "function";
        const auto take = [&](const proto_field& field) {
            if (field.number == onnx_node_field_in(is_function)) {
                return from_.in_message(field, [&](uint64_t end) { return read_node(end); });
            }
            if (is_function && field.number == onnx_function_field::attribute_default) {
                return from_.in_message(field, [&](uint64_t end) { return read_attribute(function, end); });
            }
            if (!is_function && field.number == initializer) {
                return from_.in_message(field, [&](uint64_t end) { return add_tensor(end, nullptr); });
            }
            if (!is_function && field.number == sparse_initializer) {
                return from_.in_message(field, [&](uint64_t end) { return add_sparse(end, nullptr); });
            }
            return from_.skip(field);
        };
        ZTENSOR_TRY(from_.for_each_field(graph_end, take));
        return has_graphs_;
    }

    result<void> read_node(uint64_t node_end) {
        const uint64_t begin = from_.position();
        ZTENSOR_TRY_ASSIGN(const onnx_node node, read_onnx_node(from_, node_end));
        if (!node.has_attributes) {
            return {};
        }
        from_.seek(begin);
        return from_.for_each_field(node_end, [&](const proto_field& field) {
            return field.number == onnx_node_field::attribute
                       ? from_.in_message(field, [&](uint64_t end) { return read_attribute(node, end); })
                       : from_.skip(field);
        });
    }

    result<void> read_attribute(const onnx_node& node, uint64_t end) {
        ZTENSOR_TRY_ASSIGN(const onnx_attribute attribute, read_onnx_attribute(from_, end));
        has_graphs_ = has_graphs_ || attribute.has_graphs;
        if (attribute.tensors != 0) {
            return read_tensors(node, attribute);
        }
        return node.op_type == "Constant" && node.is_standard() ? add_constant(node, attribute)
                                                                : list_values(node, attribute);
    }

    /// A node has one tensor, or a list; of a node that does nothing but give it, it has the output's name.
    result<void> read_tensors(const onnx_node& node, const onnx_attribute& attribute) {
        using of = onnx_attribute_field;
        if (node.label().size() > max_name_bytes || attribute.name.size() > max_name_bytes) {
            return fail(errc::name_invalid,
                        "a node or an attribute that holds tensors has a name of more than {} bytes", {max_name_bytes});
        }
        const bool is_output = node.is_standard() && !node.output.empty() && attribute.tensors == 1 &&
                               (node.op_type == "Constant" || node.op_type == "ConstantOfShape");
        uint64_t count = 0;
        from_.seek(attribute.message.offset);
        return from_.for_each_field(attribute.message.offset + attribute.message.length, [&](const proto_field& field) {
            const bool is_dense = field.number == of::t || field.number == of::tensors;
            if (!is_dense && field.number != of::sparse_tensor && field.number != of::sparse_tensors) {
                return from_.skip(field);
            }
            string name = is_output ? node.output : name_of(node, attribute);
            name += attribute.tensors > 1 ? '.' + std::to_string(count++) : string();
            return from_.in_message(
                field, [&](uint64_t end) { return is_dense ? add_tensor(end, &name) : add_sparse(end, &name); });
        });
    }

    [[nodiscard]] static string name_of(const onnx_node& node, const onnx_attribute& attribute) {
        return node.label().empty() ? attribute.name : node.label() + '.' + attribute.name;
    }

    /// The value of a Constant that is no tensor.
    result<void> add_constant(const onnx_node& node, const onnx_attribute& attribute) {
        using kind = onnx_attribute_type;
        constexpr uint64_t f32 = 1, i64 = 7;
        if (attribute.is_reference) { // each call of the function brings its own
            return {};
        }
        ZTENSOR_TRY_ASSIGN(const string name, name_for(node.output.empty() ? name_of(node, attribute) : node.output));
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
        if (attribute.has_text || attribute.type == kind::text || attribute.type == kind::texts) {
            skip(name, "it is a constant of text");
        }
        return {};
    }

    /// Other attributes say what a node does. Those that may be weights all the same are listed: numbers of nodes that
    /// are not ONNX's own, such as trees and linear models, and long runs of bytes, such as compiled engines.
    result<void> list_values(const onnx_node& node, const onnx_attribute& attribute) {
        constexpr uint64_t longest_text = 4096;
        if (!node.is_standard() && attribute.floats != 0) {
            skip(name_of(node, attribute), "its numbers are an attribute of a node " + node.op_type);
        } else if (attribute.text_bytes > longest_text) {
            skip(name_of(node, attribute), "it is bytes of a node " + node.op_type);
        }
        return {};
    }

    /// `name` null: its own.
    result<void> add_tensor(uint64_t end, const string* name) {
        ZTENSOR_TRY_ASSIGN(const onnx_tensor tensor, read_onnx_tensor(from_, end));
        ZTENSOR_TRY_ASSIGN(const string found, name_for(name != nullptr ? *name : tensor.name));
        return add(found, tensor, tensor.type);
    }
    result<void> add_sparse(uint64_t end, const string* name) {
        ZTENSOR_TRY_ASSIGN(const onnx_sparse_tensor tensor, read_onnx_sparse(from_, end));
        ZTENSOR_TRY_ASSIGN(const string found, name_for(name != nullptr ? *name : tensor.values.name));
        return add(found, tensor, tensor.values.type);
    }
    template <class Tensor>
    result<void> add(const string& name, const Tensor& tensor, uint64_t type) {
        constexpr uint64_t text = 8;
        if (find_onnx_type(type) != nullptr) {
            return to_.add(name, tensor);
        }
        skip(name, type == text ? "it is a tensor of texts"
                                : "its elements are of the type " + std::to_string(type) + ", which is none of ours");
        return {};
    }

    proto_reader& from_;
    onnx_objects& to_;
    onnx_root root_;
    vector<level> levels_;    ///< the outermost first
    bool has_graphs_ = false; ///< the one whose constants are being read
};

// -- onnx model

class onnx_importer {
public:
    explicit onnx_importer(const foreign_file& file)
        : file_(file), stream_(*file.source, 0, file.source->size(), file.options.max_manifest_bytes()), from_(stream_),
          objects_(file, index_), graphs_(from_, objects_) {}

    result<imported> import() {
        ZTENSOR_TRY(read_model());
        objects_.skips().finish(" more like these are not named");
        ZTENSOR_TRY_ASSIGN(imported made,
                           finish_import(container_kind::onnx, index_, objects_.source(), file_.options));
        made.blobs_may_overlap = true; // external data is ranges that the model chose
        return made;
    }

private:
    static constexpr uint64_t training_info = 20, function = 25;

    result<void> read_model() {
        constexpr uint64_t graph = 7, metadata_props = 14;
        bool has_graph = false;
        bool has_more = false;
        const auto take = [&](const proto_field& field) {
            has_graph = has_graph || field.number == graph;
            has_more = has_more || field.number == training_info || field.number == function;
            return field.number == graph
                       ? from_.in_message(field, [&](uint64_t end) { return graphs_.read(end, onnx_root()); })
                   : field.number == metadata_props
                       ? from_.in_message(field, [&](uint64_t end) { return read_property(end); })
                       : from_.skip(field);
        };
        ZTENSOR_TRY(from_.for_each_field(file_.source->size(), take));
        if (!has_graph) {
            return fail(errc::schema_missing, "as an ONNX model, which its bytes may be, it has no graph");
        }
        return has_more ? read_beside_graph() : result<void>();
    }

    /// What the model has besides its graph, whose names go before those of all others wherever it stands.
    result<void> read_beside_graph() {
        uint64_t count = 0;
        from_.seek(0);
        return from_.for_each_field(file_.source->size(), [&](const proto_field& field) {
            return field.number == training_info
                       ? from_.in_message(field, [&](uint64_t end) { return read_training(end, count++); })
                   : field.number == function
                       ? from_.in_message(field, [&](uint64_t end) { return read_function(end, count++); })
                       : from_.skip(field);
        });
    }

    result<void> read_training(uint64_t training_end, uint64_t number) {
        constexpr uint64_t initialization = 1, algorithm = 2;
        return from_.for_each_field(training_end, [&](const proto_field& field) {
            if (field.number != initialization && field.number != algorithm) {
                return from_.skip(field);
            }
            const char* const which = field.number == initialization ? ".initialization/" : ".algorithm/";
            const string info = "training_info";
            return from_.in_message(field, [&](uint64_t end) {
                return graphs_.read(end, {false, info + which, info + '#' + std::to_string(number) + which});
            });
        });
    }

    result<void> read_function(uint64_t end, uint64_t number) {
        using of = onnx_function_field;
        const uint64_t begin = from_.position();
        string name_text;
        string domain_text;
        const auto take = [&](const proto_field& field) {
            return field.number == of::name     ? from_.take_text(field, name_text)
                   : field.number == of::domain ? from_.take_text(field, domain_text)
                                                : from_.skip(field);
        };
        ZTENSOR_TRY(from_.for_each_field(end, take));
        from_.seek(begin);
        string long_path = domain_text + '.' + name_text + '#' + std::to_string(number) + '/';
        return graphs_.read(end, {true, name_text + '/', std::move(long_path)});
    }

    result<void> read_property(uint64_t end) {
        ZTENSOR_TRY_ASSIGN(const auto entry, read_onnx_entry(from_, end));
        cbor_encoder& value = index_.attribute(entry.first);
        is_utf8(entry.second) ? value.text(entry.second) : value.byte_string(as_bytes(entry.second));
        return objects_.check_size();
    }

    const foreign_file& file_;
    header_stream stream_;
    proto_reader from_;
    foreign_index index_;
    onnx_objects objects_;
    onnx_graphs graphs_;
};

ZTENSOR_COLD inline result<imported> import_onnx(const foreign_file& file) {
    return onnx_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
