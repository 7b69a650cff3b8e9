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
            sandbox: { SandboxService($0, storage: $1, hasResolvers: $2).run() },
            testRoutes: { RouteDesk.offline($0, $1) },
            helpOnMetrics: FigureTable.help
        )
        exit(CommandLineTool(server).run(Array(CommandLine.arguments.dropFirst())))
    }
}
