import Rendering

/// `sluice resolve …`. The gateway checks the values.
enum ResolverArguments {
    /// Without a host it shows what is known.
    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let given = [("with", "--with"), ("port", "--port")].compactMap { name, option in
            arguments.values[option].map { (name: name, value: $0) }
        }
        let host = arguments.words.first.map { [(name: "host", value: $0)] } ?? []
        if arguments.flags.contains("--refresh") {
            guard given.isEmpty else {
                throw UsageError(
                    "--refresh asks all resolvers of a host; leave --with and --port out",
                    hint: "sluice help resolve"
                )
            }
            let path = "/admin/resolvers/refresh"
            return AdminRequest(.post, path, query: host, shown: arguments.view(.resolverRefresh))
        }
        guard !host.isEmpty else {
            guard given.isEmpty else {
                throw UsageError(
                    "--with and --port need a host: sluice resolve HOST",
                    hint: "sluice help resolve"
                )
            }
            return AdminRequest(.get, "/admin/resolvers", shown: arguments.view(.resolvers))
        }
        let path = "/admin/resolvers/lookup"
        return AdminRequest(.post, path, query: host + given, shown: arguments.view(.lookup))
    }
}
