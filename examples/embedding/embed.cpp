// A program in C++ with a machine in it.
//
//     area: 42
//     frame: 42, scaled: 2.5
//     sums: 1 3 6 10
//     error: ZeroDivide
//     stranger: ended, used 100000 of fuel
//     stranger: not granted host:geometry
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

// Functions that modules of bytecode import, with the types that they have in C++.
static void offer_geometry(squall::machine &machine) {
    double factor = 0.5;
    squall::host_module geometry("host:geometry", "1.0.0");
    geometry.add("area", [](std::int64_t width, std::int64_t height) { return width * height; })
        .add("scale", [factor](double number) { return number * factor; });
    machine.register_module(std::move(geometry));
}

static void stranger(squall::machine &machine, const squall::value &pipeline, const std::string &areas) {
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
    try {
        sandbox.load("areas.sqasm", areas, SQUALL_FORMAT_ASSEMBLY);
    } catch (const squall::error &refusal) {
        if (refusal.code() == SQUALL_CODE_COMPILE) std::cout << "stranger: not granted host:geometry\n";
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        std::cerr << "usage: embed pipeline.ns areas.sqasm\n";
        return 64;
    }
    squall::machine machine;
    squall::value pipeline =
        machine.load("pipeline.ns", read_file(arguments[1])).send("usingPlatform:", machine.platform());

    machine.on("area", [](const std::vector<squall::value> &of) -> squall::value {
        return of.at(0).integer() * of.at(1).integer();
    });
    std::cout << "area: " << pipeline.send("areaOf:by:", 6, 7).integer() << '\n';

    offer_geometry(machine);
    std::string areas = read_file(arguments[2]);
    squall::value module = machine.load("areas.sqasm", areas, SQUALL_FORMAT_ASSEMBLY);
    std::cout << "frame: " << machine.call_export(module, "frame", 4, 5).integer();
    std::cout << ", scaled: " << machine.call_export(module, "scaled", 5.0).number() << '\n';

    sums(machine, pipeline);

    try {
        pipeline.send("divide:", 1);
    } catch (const squall::error &error) {
        std::cout << "error: " << error.exception_class() << '\n';
    }

    stranger(machine, pipeline, areas);

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
