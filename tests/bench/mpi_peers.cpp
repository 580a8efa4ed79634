// SPDX-License-Identifier: MIT
//
// What several processes of one machine do with a checkpoint, beside parallel HDF5: mpi_peers FOLDER [MIB [ROUNDS]],
// run by mpirun. Prints for each operation the seconds of the slowest rank, the best of all rounds, and how many times
// as long HDF5 takes. Every program reads and writes the same numbers; files are in the system's cache. Built by:
//
//     mpicxx -std=c++17 -O2 -Iinclude tests/bench/mpi_peers.cpp -o build/mpi_peers
//         $(pkg-config --cflags --libs hdf5-openmpi) -lzstd -lz -pthread
#include <ztensor/mpi.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <hdf5.h>

namespace {

using namespace ztensor;

int rank_here = 0;
int ranks = 1;
constexpr std::uint64_t columns = 4096;
constexpr int tensors = 16;
std::uint64_t row_count = 0; ///< of each

std::string name_of(int number) {
    return "layers." + std::to_string(number) + ".weight";
}

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "rank %d: %s\n", rank_here, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/// Of the slowest rank, the best of some rounds.
double seconds_of(int rounds, const std::function<void()>& work) {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i <= rounds; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        work();
        double mine = MPI_Wtime() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = i == 0 ? best : std::min(best, mine);
    }
    return best;
}

// -- zTensor

void save_zt(const std::string& path, std::size_t dimension, bool is_collective,
             const std::vector<std::vector<float>>& parts) {
    mpi::writer out = mpi::writer::create(MPI_COMM_WORLD, path, write_options().sync(false)).value();
    for (int i = 0; i < tensors; ++i) {
        out.define<float>(name_of(i), {row_count, columns}).value();
    }
    out.plan().value();
    const mpi::part mine = mpi::slice_of({row_count, columns}, rank_here, ranks, dimension);
    for (int i = 0; i < tensors; ++i) {
        const std::vector<float>& part = parts[static_cast<std::size_t>(i)];
        is_collective ? out.collective_put(name_of(i), mine, part).value() : out.put(name_of(i), mine, part).value();
    }
    out.finish().value();
}

void load_zt(const reader& model, mpi::how way, std::vector<std::vector<float>>& whole) {
    load_plan plan(model);
    for (int i = 0; i < tensors; ++i) {
        plan.add(name_of(i), whole[static_cast<std::size_t>(i)]);
    }
    mpi::load(MPI_COMM_WORLD, plan, way).value();
}

void load_zt_slices(const reader& model, mpi::how way, std::size_t dimension, std::vector<std::vector<float>>& parts) {
    const mpi::part mine = mpi::slice_of({row_count, columns}, rank_here, ranks, dimension);
    load_plan plan(model);
    for (int i = 0; i < tensors; ++i) {
        plan.add(model[name_of(i)].slice(mine), parts[static_cast<std::size_t>(i)]);
    }
    mpi::load(MPI_COMM_WORLD, plan, way).value();
}

// -- HDF5

struct hdf5_file {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t id = -1;

    hdf5_file(const std::string& path, bool is_new) {
        H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
        H5Pset_all_coll_metadata_ops(access, true);
        H5Pset_coll_metadata_write(access, true);
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        id = is_new ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                    : H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
        require(id >= 0, "HDF5 opens no file");
    }
    ~hdf5_file() {
        H5Fclose(id);
        H5Pclose(access);
    }
};

/// Moves this rank's part of every dataset: all of it, or what slice_of() says.
void move_hdf5(hdf5_file& file, bool writes, bool is_whole, bool is_collective, std::size_t dimension,
               std::vector<std::vector<float>>& parts) {
    const mpi::part mine = is_whole ? mpi::slice_of({row_count, columns}, 0, 1, 0)
                                    : mpi::slice_of({row_count, columns}, rank_here, ranks, dimension);
    const hsize_t all[2] = {row_count, columns};
    const hsize_t begin[2] = {mine.ranges()[0].begin, mine.ranges()[1].begin};
    const hsize_t count[2] = {mine.shape()[0], mine.shape()[1]};
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    const hid_t memory = H5Screate_simple(2, count, nullptr);
    const hid_t space = H5Screate_simple(2, all, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, nullptr, count, nullptr);
    for (int i = 0; i < tensors; ++i) {
        float* const data = parts[static_cast<std::size_t>(i)].data();
        const std::string name = name_of(i);
        const hid_t set =
            writes ? H5Dcreate2(file.id, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                   : H5Dopen2(file.id, name.c_str(), H5P_DEFAULT);
        require(set >= 0, "HDF5 has no dataset");
        const herr_t done = writes ? H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, transfer, data)
                                   : H5Dread(set, H5T_NATIVE_FLOAT, memory, space, transfer, data);
        require(done >= 0, "HDF5 moves nothing");
        H5Dclose(set);
    }
    H5Sclose(space);
    H5Sclose(memory);
    H5Pclose(transfer);
}

void open_hdf5_datasets(const std::string& path) {
    hdf5_file file(path, false);
    for (int i = 0; i < tensors; ++i) {
        const hid_t set = H5Dopen2(file.id, name_of(i).c_str(), H5P_DEFAULT);
        require(set >= 0, "HDF5 has no dataset");
        H5Dclose(set);
    }
}

void print(const char* operation, const char* way, double mine, double theirs) {
    if (rank_here == 0) {
        std::printf("| %d | %s | %s | %.1f | %.1f | %.2f |\n", ranks, operation, way, 1000 * mine, 1000 * theirs,
                    theirs / mine);
        std::fflush(stdout);
    }
}

std::vector<std::vector<float>> filled(std::uint64_t count) {
    return std::vector<std::vector<float>>(tensors, std::vector<float>(count, 1.0f));
}

void compare_loads(const std::string& zt, const std::string& h5, int rounds) {
    const reader model = mpi::open(MPI_COMM_WORLD, zt).value();
    const reader stable = mpi::open(MPI_COMM_WORLD, zt, read_options().stable_file()).value();
    hdf5_file file(h5, false);
    {
        std::vector<std::vector<float>> whole = filled(row_count * columns);
        const auto by_hdf5 = [&](bool is_collective) {
            return seconds_of(rounds, [&] { move_hdf5(file, false, true, is_collective, 0, whole); });
        };
        const double theirs = std::min(by_hdf5(true), by_hdf5(false));
        print("load all", "striped", seconds_of(rounds, [&] { load_zt(model, mpi::how::striped, whole); }),
              by_hdf5(true));
        std::vector<std::string> names;
        std::vector<std::string_view> views;
        for (int i = 0; i < tensors; ++i) {
            names.push_back(name_of(i));
        }
        views.assign(names.begin(), names.end());
        print("load all", "shared_load",
              seconds_of(rounds, [&] { mpi::shared_load(MPI_COMM_WORLD, model, views).value(); }), theirs);
        print("load all", "automatic", seconds_of(rounds, [&] { load_zt(model, mpi::how::automatic, whole); }), theirs);
        print("load all", "automatic, stable_file",
              seconds_of(rounds, [&] { load_zt(stable, mpi::how::automatic, whole); }), theirs);
        // What each rank does at least: a copy of as much in memory.
        const std::vector<std::vector<float>> from = whole;
        print("copy all", "memcpy",
              seconds_of(rounds,
                         [&] {
                             for (std::size_t i = 0; i < from.size(); ++i) {
                                 std::memcpy(whole[i].data(), from[i].data(), from[i].size() * sizeof(float));
                             }
                         }),
              theirs);
    }
    const mpi::part mine = mpi::slice_of({row_count, columns}, rank_here, ranks, 1);
    std::vector<std::vector<float>> parts = filled(*mine.shape().element_count());
    const auto by_hdf5 = [&](bool is_collective) {
        return seconds_of(rounds, [&] { move_hdf5(file, false, false, is_collective, 1, parts); });
    };
    const double together = by_hdf5(true);
    const double theirs = std::min(together, by_hdf5(false));
    print("load columns", "collective",
          seconds_of(rounds, [&] { load_zt_slices(model, mpi::how::collective, 1, parts); }), together);
    print("load columns", "automatic",
          seconds_of(rounds, [&] { load_zt_slices(model, mpi::how::automatic, 1, parts); }), theirs);
    print("load columns", "automatic, stable_file",
          seconds_of(rounds, [&] { load_zt_slices(stable, mpi::how::automatic, 1, parts); }), theirs);
}

} // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(argument_count > 1, "usage: mpi_peers FOLDER [MIB [ROUNDS]]");
    const std::string zt = std::string(arguments[1]) + "/peers.zt";
    const std::string h5 = std::string(arguments[1]) + "/peers.h5";
    const auto mib = static_cast<std::uint64_t>(argument_count > 2 ? std::atoi(arguments[2]) : 256);
    const int rounds = argument_count > 3 ? std::atoi(arguments[3]) : 5;
    row_count = (mib << 20) / (columns * sizeof(float) * tensors);

    for (const std::size_t dimension : {std::size_t{1}, std::size_t{0}}) { // rows last: what is loaded below
        const mpi::part mine = mpi::slice_of({row_count, columns}, rank_here, ranks, dimension);
        std::vector<std::vector<float>> parts = filled(*mine.shape().element_count());
        const auto by_hdf5 = [&](bool is_collective) {
            return seconds_of(rounds, [&] {
                hdf5_file file(h5, true);
                move_hdf5(file, true, false, is_collective, dimension, parts);
            });
        };
        const double theirs = std::min(by_hdf5(true), by_hdf5(false));
        for (const bool is_collective : {false, true}) {
            print(dimension == 0 ? "save rows" : "save columns", is_collective ? "collective_put" : "put",
                  seconds_of(rounds, [&] { save_zt(zt, dimension, is_collective, parts); }), theirs);
        }
    }

    print("open", "open", seconds_of(rounds, [&] { mpi::open(MPI_COMM_WORLD, zt).value(); }),
          seconds_of(rounds, [&] { open_hdf5_datasets(h5); }));

    compare_loads(zt, h5, rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_here == 0) {
        std::filesystem::remove(zt);
        std::filesystem::remove(h5);
    }
    MPI_Finalize();
}
