import Admin
import CLI
import Gateway
import Glibc
import System

@main
struct Sluice {
    static func main() {
        // Comes first, because every command may soon hold a token or a key in memory.
        CoreDumps.forbid()
        let server = ServerPrograms(
            serve: { Service($0).run() },
            sandbox: {
                SandboxService(
                    listen: $0.listen,
                    storage: $0.storage,
                    hasResolvers: $0.hasResolvers,
                    environment: $0.environment
                ).run()
            },
            testRoutes: { RouteDesk.offline($0, $1) },
            helpOnMetrics: FigureTable.help
        )
        exit(CommandLineTool(server).run(Array(CommandLine.arguments.dropFirst())))
    }
}
