import Resolvers
import SLS
import System

extension DestinationSettings {
    /// Makes the output for the target's kind.
    func output(userAgent: String) throws(DeliveryError) -> any Output {
        switch target {
        case .sls:
            do throws(EndpointError) {
                return try SLSOutput(self, userAgent: userAgent)
            } catch {
                throw DeliveryError(description: "destination \(name): \(error.description)")
            }
        case .http(let target): return HTTPOutput(self, target, userAgent: userAgent)
        case .file(let target): return LineOutput(self, target.shape)
        case .stdout(let shape): return LineOutput(self, shape)
        }
    }

    /// Makes the carrier for the target's kind.
    func carrier(_ journal: Journal, _ names: NameService?) -> any Carrier {
        switch target {
        case .sls, .http: TransferPool(self, names)
        case .file(let target):
            WriterThread("file-\(name)") { [name] in
                LogFile(target, notices: ArchiveNotices(name, journal))
            }
        case .stdout: WriterThread("stdout-\(name)") { LineStream() }
        }
    }
}
