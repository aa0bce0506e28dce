// A program in C++ with a machine in it.
//
//     area: 42
//     sums: 1 3 6 10
//     error: ZeroDivide
//     stranger: ended, used 100000 of fuel
//     thrown: HostError: area: not today

#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <squall.hpp>

static std::string read_file(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Two native threads and a process: this one reads what the other one's numbers sum up to.
static void sums(squall::machine &machine, const squall::value &pipeline) {
    auto [numbers, guest_in] = machine.channel_to_guest();
    auto [sums, guest_out] = machine.channel_from_guest();
    pipeline.send("sumFrom:to:", guest_in, guest_out);
    std::thread writing([numbers = std::move(numbers)]() mutable {
        for (int number = 1; number <= 4; ++number) numbers.write(number);
        numbers.poison();
    });
    std::cout << "sums:";
    try {
        while (true) {
            std::int64_t sum = sums.read().integer();
            std::cout << ' ' << sum;
        }
    } catch (const squall::error &end) {
        if (end.code() != SQUALL_CODE_POISONED) std::cerr << end.what() << '\n';
    }
    std::cout << '\n';
    writing.join();
}

static void stranger(squall::machine &machine, const squall::value &pipeline) {
    squall_budgets budgets = squall::unlimited();
    budgets.fuel = 100000;
    squall::sandbox sandbox = machine.make_sandbox("stranger", budgets);
    squall::value object = sandbox.actor(pipeline.send("stranger")).send("new");
    try {
        object.send("spin");
    } catch (const squall::error &end) {
        if (end.code() == SQUALL_CODE_SANDBOX_ENDED)
            std::cout << "stranger: ended, used " << sandbox.usage().fuel << " of fuel\n";
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        std::cerr << "usage: embed pipeline.ns\n";
        return 64;
    }
    squall::machine machine;
    squall::value pipeline =
        machine.load("pipeline.ns", read_file(arguments[1])).send("usingPlatform:", machine.platform());

    machine.on("area", [](const std::vector<squall::value> &of) -> squall::value {
        return of.at(0).integer() * of.at(1).integer();
    });
    std::cout << "area: " << pipeline.send("areaOf:by:", 6, 7).integer() << '\n';

    sums(machine, pipeline);

    try {
        pipeline.send("divide:", 1);
    } catch (const squall::error &error) {
        std::cout << "error: " << error.exception_class() << '\n';
    }

    stranger(machine, pipeline);

    machine.on("area", [](const std::vector<squall::value> &) -> squall::value {
        throw std::runtime_error("not today");
    });
    try {
        pipeline.send("areaOf:by:", 1, 1);
    } catch (const squall::error &error) {
        std::cout << "thrown: " << error.what() << '\n';
    }
    return machine.end();
}
