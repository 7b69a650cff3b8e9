import Configuration
import JSON
import Rendering
import System

/// `sluice route …`. The gateway checks the values.
enum RouteArguments {
    /// What a gateway takes.
    private static let fileBytesMax = 256 << 10
    private static let logDepthMax = 64
    /// Options, and the members of the request that they become.
    private static let members: [(option: String, member: String)] = [
        ("--topic", "topic"), ("--source", "source"), ("--client-ip", "client_ip"),
        ("--key", "key"),
    ]

    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        let request = AdminRequest(
            .post,
            AdminRequest.routeTestPath,
            body: try body(arguments),
            shown: arguments.view(.routeTest)
        )
        guard try isOffline(arguments) else {
            return OperatorCommand(arguments.inputs).run(request)
        }
        return test(request, arguments)
    }

    /// `sluice route --config`: tests the filters and routes of a configuration file.
    private static func test(_ request: AdminRequest, _ arguments: Arguments) -> CInt {
        var inputs = arguments.inputs
        // Rules can be tested without the keys of their destinations.
        inputs.isSandboxed = true
        guard let configuration = configured(try GatewayConfiguration.read(inputs)) else {
            return ExitCode.wrong
        }
        let answer = arguments.programs.testRoutes(request.body ?? [], configuration)
        guard answer.isFine else {
            Terminal.complain(TerminalText.sentence(answer.text))
            return ExitCode.failed
        }
        let json = Array(answer.text.utf8)
        Terminal.say(bytes: request.shown.map { Array($0(json, 0).utf8) } ?? json)
        return ExitCode.fine
    }

    /// True for a test of a configuration file, without a gateway.
    private static func isOffline(_ arguments: Arguments) throws(UsageError) -> Bool {
        guard arguments.values["--config"] != nil else { return false }
        let reaching = ["--admin-listen", "--admin-ca", "--admin-cert", "--admin-key"]
        guard let option = reaching.first(where: { arguments.values[$0] != nil }) else {
            return true
        }
        throw UsageError(
            "\(option) asks a running gateway, and --config needs none; use one of them"
        )
    }

    private static func body(_ arguments: Arguments) throws(UsageError) -> [UInt8] {
        guard let tag = arguments.words.first, !tag.isEmpty else {
            throw UsageError("route needs a tag: sluice route TAG")
        }
        var json = JSONWriter()
        json.object { json in
            json.member("tag", tag)
            for (option, member) in members {
                if let value = arguments.values[option] { json.member(member, value) }
            }
        }
        guard let file = arguments.values["--file"] else { return json.bytes }
        let logs = try logs(in: file)
        return json.bytes.dropLast() + Array(",\"logs\":[".utf8)
            + Array(logs.joined(separator: [UInt8(ascii: ",")])) + Array("]}".utf8)
    }

    /// The objects of a file: one, several one after the other (NDJSON), or those of arrays.
    private static func logs(in file: String) throws(UsageError) -> [ArraySlice<UInt8>] {
        let content = try FileContents.read(file, bytesMax: fileBytesMax)
        let name = file == "-" ? "stdin" : file
        var reader = JSONReader(content)
        var logs: [ArraySlice<UInt8>] = []
        while !reader.isAtEnd {
            let isArray = reader.take("[")
            if isArray, reader.take("]") { continue }
            repeat {
                guard let value = reader.value(depthMax: logDepthMax) else {
                    throw UsageError(
                        "\(name) is no JSON at byte \(reader.problem("").position); the logs are JSON objects"
                    )
                }
                guard value.first == UInt8(ascii: "{") else {
                    throw UsageError(
                        "\(name): element \(logs.count) is no object; each log is an object of its fields"
                    )
                }
                logs.append(value)
            } while reader.take(",")
            guard !isArray || reader.take("]") else {
                throw UsageError(
                    "\(name): a comma or ] is expected at byte \(reader.problem("").position)"
                )
            }
        }
        guard !logs.isEmpty else {
            throw UsageError("\(name) has no logs; without --file one log without fields is tested")
        }
        return logs
    }
}
