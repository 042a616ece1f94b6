// Uploads a file with tus-js-client, which tries again until the server is back: node upload.js URL KEY FILE CHUNK
const fs = require("node:fs");
const tus = require("tus-js-client");

const [, , endpoint, key, file, chunk] = process.argv;
const upload = new tus.Upload(fs.createReadStream(file), {
  endpoint,
  chunkSize: Number(chunk),
  uploadSize: fs.statSync(file).size,
  headers: { Authorization: `Bearer ${key}` },
  metadata: {
    collection: "archive",
    subsystem: "sid.inpe.br/mtc-m18",
    filename: "survey.tar",
    filetype: "application/x-tar",
    title: "A survey",
  },
  retryDelays: Array(60).fill(250),
  onShouldRetry: (problem) => {
    console.log("retry after", problem.message);
    return true;
  },
  onError: (problem) => {
    console.log("failed", problem.message);
    process.exit(1);
  },
  onSuccess: () => console.log("done", upload.url),
});
upload.start();
